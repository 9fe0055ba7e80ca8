// A trial start of the host of thread ranks: it loads one image of the program, as for a rank, and
// ends before anything of it runs. So whether it can be loaded is said by who would load it, and
// how many memory maps that takes.
#pragma once

#include <string>

namespace meantime::launch {

/// Empty, or one line why the program cannot be loaded. `library_path`: LD_LIBRARY_PATH as the
/// program will see it.
std::string try_to_load(const std::string& path, const std::string& library_path);

/// Memory maps in a host of this program.
struct TrialMaps {
  long of_a_rank = 0;  ///< with its stack; 0: it cannot be loaded
  long others = 0;     ///< that do not grow with the ranks
};
TrialMaps try_for_maps(const std::string& path, const std::string& library_path);

}  // namespace meantime::launch
