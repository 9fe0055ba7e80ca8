// Whether a program's ranks can be threads of one process. Reads the program and its libraries,
// starts nothing.
#pragma once

#include <string>
#include <vector>

namespace meantime::launch {

struct ThreadVerdict {
  std::vector<std::string> problems;  ///< each one line: what, why, what to do; empty: it can
  std::vector<std::string> notes;     ///< what it should know
};

/// `library_path`: LD_LIBRARY_PATH as the program will see it.
ThreadVerdict check_for_threads(const std::string& path, const std::string& library_path);

}  // namespace meantime::launch
