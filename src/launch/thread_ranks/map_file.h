// --place file:PATH: which worker each thread rank begins on, from a file.
#pragma once

#include <string>
#include <vector>

namespace meantime::launch {

/// One worker's number a line, rank by rank; empty lines and what follows a # count for nothing.
/// Fills in `workers`; one line what is wrong and where, or empty.
std::string read_map_file(const std::string& path, int ranks, int worker_count,
                          std::vector<int>& workers);

}  // namespace meantime::launch
