// Who hears the network for ranks that do not look. Two threads of a process, each asleep until it
// is called with the network's next event (net/listener.h):
//   listener  for ranks that sleep in MPI and do not hear it themselves (sleep/ear.h). It rings a
//             process rank; for ranks of a host of threads it polls, and rings those whose wait is
//             over
//   helper    for ranks that compute: what comes meanwhile is there when they look, and no
//             rendezvous waits for them. (Collaborative polling, and the event-driven helper that
//             its paper names as future work: papers/collaborative-polling.txt.) Called since a
//             rank left MPI with something under way that may need an answer, it moves what there
//             is, and asks to be called again
// Ranks in MPI move all of this themselves, and thread ranks that wait that of others, too
// (net/network.h): a thread that finds nothing left to move looks a little later, or lets go until
// a rank leaves MPI again.
//
// What the helper does the rank would have to do itself, but for its being woken. So it is woken
// only if something may need an answer (Engine::may_have_to_answer; MEANTIME_HELPER=on: if any
// receive is open), and then also where all CPUs are in use, of which a thread of SCHED_BATCH has
// its share and preempts nobody. (To leave them to the ranks did not pay: 4 MiB each way while both
// compute, 652 ms, and 414 so. Nor to be deaf for a while after a call without an answer: 2.6 % of
// a stencil with an open receive of 1 MiB, and 0.5 without.) It runs no code of the program:
// operators of reductions are the rank's own.
#pragma once

#include <atomic>

#include "match/engine.h"
#include "net/listener.h"
#include "rank/rank.h"

namespace meantime::core {

class Helper {
 public:
  /// Of the only rank of its process, or (nullptr) of all ranks of a host.
  Helper(Rank* rank, std::atomic<std::uint32_t>& threads);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  /// The rank leaves MPI, its lock held.
  void take_over(Rank& rank) {
    if (!watches_.load(std::memory_order_relaxed) &&
        rank.phase.load(std::memory_order_relaxed) == Phase::active &&
        rank.engine->may_have_to_answer()) {
      watch(rank);
    }
  }

 private:
  enum class Turn { moved, in_vain, over };

  void watch(Rank& rank);
  static void heard(int);
  Turn turn();
  Turn turn_of_rank();
  Turn turn_of_host();
  Turn let_go();
  Turn listen_again();

  Rank* const rank_;
  net::Listener listener_;
  /// Whoever sets it has armed, or is the helper in its loop. Of a process rank it belongs to the
  /// rank's lock, so none that leaves MPI is overlooked; of a host's ranks one may be, until it is
  /// back or another one leaves.
  std::atomic<bool> watches_{false};
  // The helper's own, of a host:
  bool moved_any_ = false;  ///< since it was called, or listened
  int vain_ = 0;            ///< turns in a row
};

/// Of this process, if it has one.
extern constinit Helper* host_helper;

/// After the rank has let go of its lock: what came for it meanwhile nobody else could hand over.
inline void take_what_others_queued(Rank& rank) {
  for (bool any = true;
       any && rank.engine != nullptr && rank.engine->remote->has_queued() && rank.lock.try_lock();
       rank.lock.unlock()) {
    any = rank.engine->remote->take_queued();
  }
}

/// Where the job has several nodes. In MPI_Init of a process rank …
void hear_network_for(Rank& rank, bool helps);
/// … and before the ranks of a host begin.
void hear_network_for_host(int first_rank, int ranks, bool helps);

}  // namespace meantime::core
