// What /proc says of one process. Every answer may be out of date when it arrives.
#pragma once

#include <sys/types.h>

#include <string>

namespace meantime::launch {

struct ProcessStat {
  char state = 0;  ///< the kernel's letter; 0: there is no such process
  pid_t parent = 0;
};

ProcessStat process_stat(pid_t pid);

/// Whether it has a handler for the signal.
bool catches(pid_t pid, int signal);

/// The MPI library in its memory map; empty if there is none.
std::string loaded_mpi_library(pid_t pid);

}  // namespace meantime::launch
