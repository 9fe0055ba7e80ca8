// The bound on what guests cost (guest/bound.h), beside another MPI. A process's progress is its
// waits that are ours; it looks at the time when one begins. Guests that are programs are frozen by
// the first rank of a node for all of it, by its own progress; a function rests in the rank that
// finds it too dear.
#pragma once

#include <string>

namespace meantime::shim {

/// In MPI_Init, once guests have started.
void start_trials();
/// In MPI_Finalize, before guests end.
void end_trials();

/// A wait of ours begins. Any thread.
void note_wait();
/// It lasts: guests may be on or off from now on.
void look_at_trials();
/// Whether a guest function may work now.
bool function_may_work();

/// What this rank found, in one line; empty: there is no bound.
std::string cost_of_guests();

}  // namespace meantime::shim
