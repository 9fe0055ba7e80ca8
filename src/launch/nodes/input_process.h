// Standard input on its way to who starts mpiexec on the node of the rank that reads it: a process
// puts the order (order.h) before it.
#pragma once

#include <sys/types.h>

namespace meantime::launch {

struct InputProcess {
  pid_t pid = -1;
  int end = -1;  ///< to read, which the caller closes; -1: it cannot be started
};

/// Of `order` and then of our own standard input. It is in the process group in which this is
/// called, by which a terminal knows who may read, and ends with the process that calls it.
InputProcess input_behind(int order);

}  // namespace meantime::launch
