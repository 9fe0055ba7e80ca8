// Backtraces of running ranks, from gdb.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace meantime::tools {

/// By rank, or by -1 what gdb had to say instead.
using Backtraces = std::map<int, std::vector<std::string>>;

/// Of every thread of a process rank.
std::vector<std::string> backtrace_of_process(pid_t pid, std::string& problem);

/// Of thread ranks, by tools/gdb/meantime.py; `ranks` as its `rank apply` takes them.
Backtraces backtraces_of_host(pid_t host, const std::string& ranks, std::string& problem);

}  // namespace meantime::tools
