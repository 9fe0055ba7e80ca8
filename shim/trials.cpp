#include "shim/trials.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/clock.h"
#include "guest/bound.h"
#include "guest/plan.h"
#include "shim/function.h"
#include "shim/guests.h"
#include "shim/steal_words.h"

namespace meantime::shim {
namespace {

std::unique_ptr<guest::Bound> bound;
std::atomic<bool> on{false};
std::atomic<std::uint64_t> waits{0};
std::atomic<std::uint64_t> block_ends_ns{0};
std::atomic<bool> guests_run{true};
/// Whoever finds the block over, alone, changes `bound`: as a lock that nobody waits for.
std::atomic<bool> changing{false};

void next_block() {
  const guest::Bound::Block block = bound->next(now_seconds(), waits.load());
  guests_run.store(block.guests, std::memory_order_relaxed);
  if (function() == nullptr) {
    order(block.guests ? guest::Order::thaw : guest::Order::freeze);
  }
  block_ends_ns.store(now_ns() + static_cast<std::uint64_t>(block.seconds * 1e9),
                      std::memory_order_relaxed);
}

}  // namespace

void start_trials() {
  const char* const percent = std::getenv(most_variable);
  if (percent == nullptr || (function() == nullptr && !has_keeper())) {
    return;
  }
  bound = std::make_unique<guest::Bound>(std::atof(percent) / 100, now_ns());
  next_block();
  on.store(true, std::memory_order_release);
}

void end_trials() {
  if (on.exchange(false)) {
    bound->end(now_seconds());
  }
}

void note_wait() {
  if (on.load(std::memory_order_acquire)) {
    waits.fetch_add(1, std::memory_order_relaxed);
    look_at_trials();
  }
}

void look_at_trials() {
  if (on.load(std::memory_order_acquire) &&
      now_ns() >= block_ends_ns.load(std::memory_order_relaxed) &&
      !changing.exchange(true, std::memory_order_acquire)) {
    next_block();
    changing.store(false, std::memory_order_release);
  }
}

bool function_may_work() {
  return guests_run.load(std::memory_order_relaxed);
}

std::string cost_of_guests() {
  return bound == nullptr ? "" : guest::cost_line(*bound);
}

}  // namespace meantime::shim
