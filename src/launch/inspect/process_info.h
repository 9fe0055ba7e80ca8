// What /proc says of one process. Every answer may be out of date when it arrives.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace meantime::launch {

/// For how many seconds it has been there; 0 if it is not.
double process_seconds(pid_t pid);

/// Whether it has a handler for the signal.
bool catches(pid_t pid, int signal);

/// The MPI library in its memory map; empty if there is none.
std::string loaded_mpi_library(pid_t pid);
/// The first file in its memory map that has such a name; empty if there is none.
std::string loaded_file(pid_t pid, bool (*has_such_a_name)(std::string_view));

}  // namespace meantime::launch
