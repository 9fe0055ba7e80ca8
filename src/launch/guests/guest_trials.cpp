#include "launch/guests/guest_trials.h"

#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace meantime::launch {

GuestTrials::GuestTrials(const Job& job, Guests& guests, const node::Segment& segment)
    : job_(job),
      guests_(guests),
      bound_(job.guest_bound.value_or(1), now_ns()),
      segment_(segment) {}

void GuestTrials::begin() {
  if (job_.guest_bound && !std::exchange(running_, true)) {
    next();
  }
}

void GuestTrials::stop() {
  timer_.set(0);
  if (std::exchange(running_, false)) {
    bound_.end(now_seconds());
  }
}

void GuestTrials::on_timer() {
  timer_.set(0);
  if (running_) {  // not of a timer that was over just before it was switched off
    next();
  }
}

void GuestTrials::next() {
  std::uint64_t calls = 0;
  for (int rank = 0; rank < static_cast<int>(segment_.header().ranks); ++rank) {
    calls += segment_.area(rank).account.guest_work.calls.load(std::memory_order_relaxed);
  }
  const guest::Bound::Block block = bound_.next(now_seconds(), calls);
  if (!job_.guest_function.empty()) {
    segment_.header().without_guests_until_ns.store(
        block.guests ? 0 : now_ns() + static_cast<std::uint64_t>(block.seconds * 1e9),
        std::memory_order_relaxed);
  } else if (block.guests) {
    guests_.thaw();
  } else {
    guests_.freeze();
  }
  timer_.set(block.seconds);
}

}  // namespace meantime::launch
