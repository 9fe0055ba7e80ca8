// Whether a program's ranks can be threads of one process: by its files, and by loading it once.
// Nothing of it runs.
#pragma once

#include <string>
#include <vector>

namespace meantime::launch {

struct ThreadVerdict {
  std::vector<std::string> problems;  ///< each one line: what, why, what to do; empty: it can
  std::size_t of_build = 0;  ///< how many of them another build of the same source does not have
  std::vector<std::string> notes;  ///< what it should know
  /// Without problems: why it may still need more of MPI than thread ranks have, in one line. Its
  /// files do not tell; who knows it says --as threads.
  std::string doubt;
  /// Without a doubt: that it asks for a level, which it may insist on. Most that start no threads
  /// do not, so only `meantime check` says it.
  std::string level_note;
};

/// Without `trial` only its files are read.
/// `library_path`: LD_LIBRARY_PATH as the program will see it.
ThreadVerdict check_for_threads(const std::string& path, const std::string& library_path,
                                bool trial);

}  // namespace meantime::launch
