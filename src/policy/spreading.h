// A CPU of one's own. Two ranks that poll on one CPU hand it to each other by yields, each of which
// looks busy to the kernel, and it may leave them together for seconds while another CPU idles: an
// 8-byte ping-pong then takes 0.4 us instead of 0.1. A rank that notices moves over. It binds
// nothing: afterwards the affinity mask is what it was, and the kernel may move the rank again.
//   shared     another rank of the job polls on this CPU
//   free       a CPU of this thread's mask on which no rank of the job polls
// Only where ranks do not exceed workers. Private to the rank, its lock held.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

#include "base/heuristics.h"

namespace meantime::wait {

class Spreading {
 public:
  /// After a turn of polling that ended with a yield, by that rank of so many. Now and then it
  /// looks who else is here.
  void yielded(int world_rank, int world_size) {
    if (uses(Heuristic::spreading) && ++yields_ % yields_a_look == 0) {
      look(world_rank, world_size);
    }
  }

 private:
  void look(int world_rank, int world_size);

  static constexpr std::uint32_t yields_a_look = 64;

  std::uint32_t yields_ = 0;
  std::uint64_t pause_ns_ = 0;       ///< before the next move: doubles with each
  std::uint64_t not_before_ns_ = 0;  ///< CLOCK_MONOTONIC
  bool bound_ = false;               ///< to fewer CPUs than its cpuset has
};

/// The free CPU of `mask` for a rank that shares its own, `here`; -1 if there is none. `others`:
/// the CPUs on which other ranks poll.
int free_cpu(const cpu_set_t& mask, int here, const std::vector<int>& others);

/// Makes `mask` the calling thread's CPUs again. `bound`: it is known that somebody has bound the
/// thread to them; else they may be all of its cpuset, and then they are that afterwards too, also
/// when the cpuset is widened.
void give_back_affinity(const cpu_set_t& mask, bool& bound);

}  // namespace meantime::wait
