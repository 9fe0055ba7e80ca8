#include "rank/counters.h"

#include <bit>
#include <memory>
#include <mutex>
#include <vector>

#include "rank/clocks.h"
#include "scheduling/fiber.h"
#include "scheduling/scheduler.h"

namespace meantime::ranks {
namespace {

constexpr std::size_t number(CountedFor whom) {
  return static_cast<std::size_t>(whom);
}

constexpr CounterSet bit(int event) {
  return CounterSet{1} << event;
}

/// Kept until the process ends: a thread's library data has no end of its own to free them in.
Counters& counters_of(Clocks& clocks) {
  if (clocks.counters == nullptr) {
    static std::mutex lock;
    static auto& all = *new std::vector<std::unique_ptr<Counters>>;
    const std::lock_guard guard(lock);
    all.push_back(std::make_unique<Counters>());
    clocks.counters = all.back().get();
  }
  return *clocks.counters;
}

CounterFiles& files_of(Counters& counters, const Clocks& clocks) {
  return clocks.fiber != nullptr ? clocks.fiber->carrier->counter_files : counters.own_files;
}

CoreCounts& core_of(Counters& counters, const Clocks& clocks) {
  return clocks.fiber != nullptr ? clocks.fiber->worker->core_counts() : counters.own_core;
}

}  // namespace

void Counters::begin(const Clocks& clocks) {
  since_is_valid = 0;
  if (active != 0 && !clocks.away) {
    const CounterSet not_read = files_of(*this, clocks).read(active, since);
    since_is_valid = active & ~not_read;
    failed |= not_read;
  }
}

void Counters::settle(const Clocks& clocks) {
  if (active == 0 || clocks.away) {
    return;
  }
  Counts now{};
  const CounterSet not_read = files_of(*this, clocks).read(active, now);
  failed |= not_read;
  CoreCounts& core = core_of(*this, clocks);
  for (CounterSet left = since_is_valid & ~not_read; left != 0; left &= left - 1) {
    const auto event = static_cast<std::size_t>(std::countr_zero(left));
    // Begun anew by a program that has closed the descriptor: less than before.
    const std::uint64_t passed = now[event] > since[event] ? now[event] - since[event] : 0;
    for (std::size_t whom = 0; whom < counted_for_count; ++whom) {
      if ((started[whom] >> event & 1) != 0) {
        ran[whom][event] += passed;
        core[whom][event].fetch_add(passed, std::memory_order_relaxed);
      }
    }
  }
  since = now;
  since_is_valid = active & ~not_read;
}

bool counter_is_started(int event) {
  const Counters* counters = own_clocks.counters;
  return counters != nullptr && (counters->started[number(CountedFor::program)] & bit(event)) != 0;
}

int start_counter(CountedFor whom, int event) {
  Clocks& clocks = own_clocks;
  Counters& counters = counters_of(clocks);
  clocks.switch_on();
  if (!clocks.away) {
    if (const int error = files_of(counters, clocks).open(event); error != 0) {
      return error;
    }
  }
  clocks.settle_if_going();
  if (whom == CountedFor::tools) {
    ++counters.tool_starts[static_cast<std::size_t>(event)];
  }
  counters.failed &= ~bit(event);
  counters.started[number(whom)] |= bit(event);
  counters.active |= bit(event);
  if (clocks.stopped == 0) {
    counters.begin(clocks);
  }
  return 0;
}

void stop_counter(CountedFor whom, int event) {
  Clocks& clocks = own_clocks;
  if (clocks.counters == nullptr) {
    return;
  }
  Counters& counters = *clocks.counters;
  clocks.settle_if_going();
  std::uint8_t& tools = counters.tool_starts[static_cast<std::size_t>(event)];
  // A tool's handle may be stopped by another thread than the one that started it.
  if (whom == CountedFor::tools && (tools == 0 || --tools > 0)) {
    return;
  }
  counters.started[number(whom)] &= ~bit(event);
  counters.active = counters.started[0] | counters.started[1];
  if (clocks.fiber == nullptr && (counters.active & bit(event)) == 0) {
    counters.own_files.close(event);  // threads come and go
  }
}

bool read_counter(CountedFor whom, int event, CounterReading& reading) {
  Clocks& clocks = own_clocks;
  Counters& counters = counters_of(clocks);
  clocks.switch_on();
  clocks.settle_if_going();
  const auto at = static_cast<std::size_t>(event);
  reading = {counters.ran[number(whom)][at],
             core_of(counters, clocks)[number(whom)][at].load(std::memory_order_relaxed)};
  return (counters.failed & bit(event)) == 0;
}

}  // namespace meantime::ranks
