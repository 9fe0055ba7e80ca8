// Ranks that do the same are one line. Of 64 ranks that hang, one or two do what the others wait
// for: those are seen at once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace meantime::launch {

/// "1, 4-7, 9": sorted numbers. After eight pieces: "and 12 more".
std::string list_of_ranks(const std::vector<std::size_t>& ranks);

/// A list of what ranks do (deadlock/report.h), with those that do the same in one line, where
/// the first of them was:
///   "  rank 3 (pid 17) waits in MPI_Barrier, for 2.0 s" and others are
///   "  ranks 3-5: each waits in MPI_Barrier, for 1.9 to 2.0 s".
/// Other lines stay as they are.
std::string with_equal_ranks_together(const std::string& text);

}  // namespace meantime::launch
