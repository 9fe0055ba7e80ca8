// Backtraces of running ranks, from gdb.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace meantime::tools {

/// By rank or pid: a line for each thread ("Thread 1 …") and each of its frames ("#0 …").
using Backtraces = std::map<int, std::vector<std::string>>;

/// Of every thread of process ranks, by pid: one gdb looks at many, so that it reads what they have
/// mapped once (64 ranks: 2 s, where a gdb for each took 30). They are stopped meanwhile.
Backtraces backtraces_of_processes(const std::vector<pid_t>& pids, std::string& problem);

/// Of thread ranks, by tools/gdb/meantime.py; `ranks` as its `rank apply` takes them.
Backtraces backtraces_of_host(pid_t host, const std::string& ranks, std::string& problem);

/// The lines of a backtrace that are the program's, and the MPI call that it is in: what is further
/// in is Meantime's own, or the kernel's.
std::vector<std::string> frames_of_program(const std::vector<std::string>& lines);

/// The lines without what differs between ranks that are in the same place: addresses, arguments.
std::vector<std::string> places_alone(const std::vector<std::string>& lines);

}  // namespace meantime::tools
