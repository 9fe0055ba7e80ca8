// What the user is told when ranks wait for ever, or hold others up: by the rank that finds it,
// for all.
#pragma once

namespace meantime::core {

/// Every rank waits in MPI, and nothing can wake one of them. Of a job with several nodes: every
/// one of this node; mpiexec looks at the others.
void tell_of_deadlock();
/// The same for long, but for threads that do not wait in MPI and may wake one.
void tell_of_stillness(int awake);
/// A rank has lacked memory for long.
void tell_of_lack(int world_rank);
/// A thread rank sleeps in the kernel, on that thread, where we do not see it.
void tell_of_held_up(int world_rank, int thread);

}  // namespace meantime::core
