// CPU time as the kernel tells it of processes.
#pragma once

#include <sys/resource.h>

namespace meantime::machine {

inline double cpu_seconds(const rusage& used) {
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

}  // namespace meantime::machine
