#include "launch/guests/guest_freeze.h"

#include <algorithm>
#include <set>

namespace meantime::launch {
namespace {

/// Each look wakes the supervisor.
constexpr double look_seconds = 0.004;

}  // namespace

void GuestFreeze::begin() {
  running_ = job_.guests && job_.guests->freeze;
  on_timer();
}

void GuestFreeze::stop() {
  running_ = false;
  timer_.set(0);
}

void GuestFreeze::on_timer() {
  timer_.set(0);
  if (running_) {
    guests_.let_run(may_run());
    timer_.set(look_seconds);
  }
}

std::size_t GuestFreeze::may_run() const {
  std::size_t asleep = 0;
  std::size_t awake = 0;
  std::set<node::Link> workers;
  const int ranks = static_cast<int>(segment_.header().ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const node::RankArea& area = segment_.area(rank);
    const auto state =
        static_cast<node::RankState>(area.report.state.load(std::memory_order_relaxed));
    if (state != node::RankState::running && state != node::RankState::waiting) {
      continue;
    }
    const node::Link worker = area.worker.load(std::memory_order_relaxed);
    if (worker != 0 && !workers.insert(worker).second) {
      continue;
    }
    const bool sleeps =
        worker != 0
            ? segment_.at<node::WorkerPlace>(worker)->asleep.load(std::memory_order_relaxed) != 0
            : area.asleep.load(std::memory_order_relaxed) != 0;
    ++(sleeps ? asleep : awake);
  }
  const auto cpus = static_cast<std::size_t>(job_.cpus.workers);
  return std::min(asleep, cpus - std::min(cpus, awake));
}

}  // namespace meantime::launch
