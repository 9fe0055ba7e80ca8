#include "deadlock/deadlock.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "deadlock/node_state.h"
#include "deadlock/sleepers.h"
#include "deadlock/threads_of_process.h"
#include "node/process.h"
#include "node/segment.h"
#include "scheduling/worker.h"

namespace meantime::wait {
namespace {

const node::WorkerPlace* worker_of(const node::RankArea& area) {
  return wait::worker_of(node::segment(), area);
}
unsigned asleep_of(const node::RankArea& area) {
  return wait::asleep_of(node::segment(), area);
}
std::uint64_t sleeps_of(const node::RankArea& area) {
  return wait::sleeps_of(node::segment(), area);
}

}  // namespace

// A rank of several nodes falls asleep for each message, and whoever does so last on its node knows
// nothing of the others: it takes its time.
Verdict look_for_deadlock(Look look) {
  const node::Segment& segment = node::segment();
  const node::Header& header = segment.header();
  if (header.on_deadlock == 2 || header.asleep.load(std::memory_order_seq_cst) == 0 ||
      !all_asleep_or_gone(header)) {
    return Verdict::running;
  }
  return look == Look::hasty && node::has_other_nodes(header) ? Verdict::doubt
                                                              : look_at_node(segment, look).verdict;
}

bool Stillness::lasts(Verdict verdict) {
  if (verdict != Verdict::quiet) {
    since_ns_ = 0;
    return false;
  }
  node::Segment& segment = node::segment();
  std::uint64_t sleeps = 0;
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    sleeps += sleeps_of(segment.area(rank));
  }
  const std::uint64_t now = now_ns();
  if (since_ns_ == 0 || sleeps != sleeps_) {
    since_ns_ = now;
    sleeps_ = sleeps;
  }
  return now - since_ns_ >= still_ns;
}

std::vector<int> ranks_that_may_be_woken(int awake) {
  node::Segment& segment = node::segment();
  std::vector<int> ranks;
  std::uint64_t host = 0;  // many ranks may have the same, of which the first stands for all
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    const node::RankArea& area = segment.area(rank);
    const std::uint64_t process = area.process.load(std::memory_order_relaxed);
    const unsigned own = rank == awake && worker_of(area) == nullptr ? 1 : 0;  // a worker is in
    if (asleep_of(area) == 0 && rank != awake) {
      continue;
    }
    const bool other_threads =
        process != host &&
        sleeping_threads(node::pid_here(area)) > threads_if_in_mpi(node::segment(), area) + own;
    host = process;
    if (other_threads || area.open_ended.load(std::memory_order_relaxed) != 0) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

void report_stillness(int awake) {
  if (stillness_hook != nullptr) {
    stillness_hook(awake);
  }
}

std::uint64_t sleeps_of_others(int world_rank) {
  node::Segment& segment = node::segment();
  const node::Header& header = segment.header();
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;  // so that the two counts do not mix
  std::uint64_t sum = 1;
  for (int rank = 0; rank < static_cast<int>(header.ranks); ++rank) {
    const node::RankArea& area = segment.area(rank);
    const auto state =
        static_cast<node::RankState>(area.report.state.load(std::memory_order_acquire));
    if (rank == world_rank || state == node::RankState::finalized) {
      continue;
    }
    if (const std::uint32_t starving = area.starving.load(std::memory_order_seq_cst)) {
      sum += starving * spread;
      continue;
    }
    if (worker_of(area) != nullptr) {
      // Its worker sleeps and wakes for others, too: the caller's own may carry this rank.
      if (state != node::RankState::waiting) {
        return 0;
      }
      sum += area.account.parks.load(std::memory_order_relaxed);
      continue;
    }
    if (area.asleep.load(std::memory_order_seq_cst) == 0) {
      return 0;
    }
    sum += area.sleeps.load(std::memory_order_seq_cst);
  }
  return header.on_deadlock == 2 ? 0 : sum;
}

Verdict look_beside(int world_rank, Switches& switches) {
  node::Segment& segment = node::segment();
  const node::WorkerPlace* const own = worker_of(segment.area(world_rank));
  std::uint64_t host = 0;  // the last one that was looked at: many ranks may have the same
  Verdict verdict = Verdict::deadlock;
  const Switches before = std::exchange(switches, {});
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    const node::RankArea& area = segment.area(rank);
    const auto state =
        static_cast<node::RankState>(area.report.state.load(std::memory_order_acquire));
    if (state == node::RankState::finalized) {
      continue;
    }
    const bool starving = area.starving.load(std::memory_order_seq_cst) != 0;
    if (rank < world_rank && starving) {
      return Verdict::running;
    }
    if (area.open_ended.load(std::memory_order_relaxed) != 0) {
      verdict = Verdict::quiet;
    }
    const node::WorkerPlace* worker = worker_of(area);
    unsigned in_mpi = 0;
    unsigned nappers = 0;
    if (worker == nullptr) {
      // Who naps may be awake at this moment, as the caller is, and then is not counted as asleep.
      nappers = area.nappers.load(std::memory_order_seq_cst);
      in_mpi = std::max(nappers,
                        area.asleep.load(std::memory_order_seq_cst) + (rank == world_rank ? 1 : 0));
    } else {
      // A worker that is up has something to run, but the caller's own: that has the caller. (It
      // said how many are offloaded when it slept for the caller's last nap.)
      const bool up = worker == own ? ranks::others_runnable()
                                    : worker->asleep.load(std::memory_order_seq_cst) == 0;
      if (up || worker->offloaded.load(std::memory_order_relaxed) != 0) {
        return Verdict::running;
      }
      in_mpi = worker->host_threads.load(std::memory_order_relaxed);
    }
    const std::uint64_t process = area.process.load(std::memory_order_relaxed);
    if (process == host) {
      continue;
    }
    host = process;
    unsigned threads = 0;
    unsigned still = 0;  // since the last look
    unsigned asleep = 0;
    bool stopped = false;
    const auto count = [&](const Thread& thread) {
      ++threads;
      const auto known = before.find(thread.tid);
      const bool sleeps = thread.state == 'S';
      asleep += sleeps || thread.tid == gettid() ? 1 : 0;
      still += sleeps && known != before.end() && known->second == thread.switches ? 1 : 0;
      stopped |= thread.traced || thread.state == 'T' || thread.state == 't';
      switches[thread.tid] = thread.switches;
    };
    const bool complete = for_each_thread(node::pid_here(area), Detail::switches, count);
    // All sleep at this moment, or those that do not nap have slept all the while.
    if (!complete || stopped || threads < in_mpi ||
        (asleep < threads && still + nappers < threads)) {
      return Verdict::running;
    }
    // (A napper that is awake may just have found what it lacked: then the next look is no later.)
    if (threads > in_mpi || asleep < threads) {
      verdict = Verdict::quiet;
    }
  }
  return verdict;
}

void report_deadlock() {
  if (deadlock_hook != nullptr) {
    deadlock_hook();
  }
}

}  // namespace meantime::wait
