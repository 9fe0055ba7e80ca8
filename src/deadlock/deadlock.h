// For ever is not an option: when every rank of the job sleeps in MPI and none can be woken, the
// job is told so at once.
//   asleep    a thread on the futex and not signalled. It counts itself in before it sleeps; who
//             rings it counts it out, so a thread that was signalled but has no core yet is not
//             asleep. A thread rank counts as asleep while it is suspended and its worker sleeps:
//             the worker counts for all of its own that wait.
//   wave      one look at all ranks. Two waves that see the same counts mean that at any moment
//             between them all threads of all ranks slept.
//
// Why it is no false alarm. Only somebody who is awake rings, pushes or completes anything. Whoever
// falls asleep as the last looks at all ranks twice: each must have the same count of sleeps and of
// threads asleep both times, its process must have no thread beyond those sleepers, be neither
// stopped nor traced, and have nothing open that may be completed from outside; or it must be
// finalized for good. As no rank counted in between the waves and each count is the same, none was
// counted out either. A rank may be counted although it is awake, as long as the one who rang it
// has not counted it out; but then that ringer is awake, and a count of its own that is too high
// needs another ringer: at the end stands one with a count of 0 that is not finalized. So between
// the waves nobody was awake, the searcher included (it only looks), and nothing was under way:
// whoever pushes on a sleeper's inbox drains it before it sleeps itself. So nothing will ever
// happen again.
//   The header's sum only saves the waves while somebody is awake. It may be too high for a moment:
// a ringer counts a rank out in two steps, and if that rank sleeps again between them, the sum has
// it twice, in place of the ringer itself.
// A rank that is away, past MPI_Finalize or its last session, may open another session as long as
// it lives: a doubt. It counts in the header's number of finalized ones, so that this is looked at.
// At its exit it says so and looks itself; if it ends otherwise, mpiexec says it for it. A rank
// that doubts counts as running. Then nobody may come later to look again (a stopped process that
// is continued goes on sleeping), so the last sleeper looks every second or so while it doubts.
//   quiet     a doubt for no other reason than that the program has threads that are not in MPI and
// sleep as well (an idle OpenMP team, a thread in pthread_join of one that waits in MPI), or a
// generalized request that is open: they may wake a rank, and nobody knows whether they will. If
// nobody has moved for ten seconds that is told once, and the job goes on.
//   several nodes   the ranks of one are looked at as above, where the threads that the process has
// for the network count as sleepers: they move only what comes from other nodes, or what a sum of
// all nodes shows to be under way. So the verdict of such a look says only that nothing here goes
// on by itself. The last sleeper takes it when it has slept for a second or so, not at each of its
// sleeps, and has mpiexec look at the other nodes (over_nodes.h).
#pragma once

#include <cstdint>
#include <vector>

#include "deadlock/starvation.h"
#include "deadlock/verdict.h"

namespace meantime {
struct Rank;
}

namespace meantime::wait {

/// Cheap unless all ranks of this node are asleep, away or finalized. Any rank may ask, at any
/// time.
Verdict look_for_deadlock(Look look);

/// For a sleeper that looks again and again: for how long nobody has moved.
class Stillness {
 public:
  /// Whether all was quiet in this thorough look and in those before it, for `still_ns`.
  bool lasts(Verdict verdict);

 private:
  std::uint64_t since_ns_ = 0;  ///< CLOCK_MONOTONIC; 0: somebody has moved
  std::uint64_t sleeps_ = 0;
};
inline std::uint64_t still_ns = 10'000'000'000;

/// Then: the ranks that are asleep and might be woken from inside of their processes. `awake`: one
/// that has counted itself out, to look.
std::vector<int> ranks_that_may_be_woken(int awake = -1);
/// Says so, once a job, with the list of what each rank waits for.
void report_stillness(int awake = -1);
/// What report_stillness calls.
inline void (*stillness_hook)(int awake) = nullptr;

/// What a rank calls that has lacked memory for `still_ns` without moving while others are awake
/// (they may ask again and again for what will never come). Said once a job, as the above.
inline void (*lack_hook)(int world_rank) = nullptr;

/// For a rank that starves, and so never sleeps for good: a sum of the others' counts of sleeps and
/// starvations if all of them sleep, are finalized or starve themselves, else 0. If it stays the
/// same for so many naps and so long (a nap for a million requests lasts much longer than it
/// should), nobody was awake all the while, but perhaps threads outside MPI, and nobody has given
/// memory back. Cheap.
std::uint64_t sleeps_of_others(int world_rank);
/// Then: `deadlock` if all threads of the job sleep in MPI, and none is stopped or traced; `quiet`
/// if some sleep outside, or one that naps is awake, and those that do not nap have not run since
/// the last of these looks (of `switches`, by thread). Of several starving ranks only the first is
/// to know. Reads /proc of all ranks.
Verdict look_beside(int world_rank, Switches& switches);
inline constexpr std::uint64_t starved_naps_for_ever = 10;
inline constexpr std::uint64_t starved_ns_for_ever = 1'000'000'000;

/// Ends the job with the list of what each rank waits for, or only prints it, as the job's
/// --on-deadlock says. At most one rank of a job gets to do it.
void report_deadlock();
/// What report_deadlock calls: the core knows the calls' names and the way to mpiexec.
inline void (*deadlock_hook)() = nullptr;

}  // namespace meantime::wait
