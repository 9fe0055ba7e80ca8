// Guest work by a function (TL-Func of papers/timelord-cycle-stealing.txt): a library of the
// user's, which waiting ranks call in the place of a sleep.
//   void setup_extrawork(void)             before the first slice; may be missing
//   void do_extrawork(void)                one slice
//   void finish_extrawork(void)            in MPI_Finalize; may be missing
//   unsigned long extrawork_slice_ns       set before `setup_extrawork`: so long a slice should be
//   unsigned long extrawork_units          read now and then: what was done; else slices count
//   int extrawork_threads                  not 0: several threads may be in a slice at once
// A slice is on the stack of who waits, and as long as it lasts nobody ends the wait. One that is
// longer than ten times what it should be, after another such one, is counted, and then there is
// none for 100 times as long. What a guest does that a rank must not do in a wait: it throws, then
// there are no more slices; it calls MPI or exit, then the job ends. A crash is one of the rank.
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
