// A guest function (guest/function.h) in the sleeps of this process's ranks. What it does that a
// rank must not do in a wait: it calls MPI or exit, then the job ends. A crash is one of the rank.
#pragma once

#include <string>

namespace meantime {
struct Rank;
}

namespace meantime::core {

/// Of this process, by what mpiexec says; `first`: its first rank, whose area has the account.
/// Empty, or one line why not.
std::string start_guest_function(const Rank& first);
/// No thread of the process sleeps in MPI any more. Several times does not matter.
void finish_guest_function();

/// Of the calling thread: it is in a slice.
bool in_guest_work();

/// What ending a wait costs while its rank works: half a slice. 0: it does not work.
unsigned long guest_lateness_ns();

}  // namespace meantime::core
