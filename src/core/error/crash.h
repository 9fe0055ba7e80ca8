// A process rank that crashes tells mpiexec where, and then dies of its signal as it would have.
// (Of thread ranks host/process/crash.cpp tells.)
#pragma once

#include <memory>

namespace meantime::node {
class ControlClient;
}

namespace meantime::core {

/// From now on, for the signals of crashes that nobody in the process handles yet: a program, its
/// language's run-time library or a sanitizer that does, now or later, is the one that is asked.
/// Once a process, by the thread that calls MPI_Init, whose stack may be what is full then.
void catch_crashes(std::shared_ptr<node::ControlClient> control);

}  // namespace meantime::core
