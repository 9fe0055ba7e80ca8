#include "rank/counters.h"

#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "base/lock.h"
#include "ledger/layout.h"
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

constinit thread_local bool thread_ends = false;

/// Of a thread that no worker carries, and gone with it. (Libc's list of what a thread destroys is
/// the kernel thread's, and keeps the library from being unloaded before: so this is touched by no
/// thread rank, whose thread-local data moves, and ends with its host.)
struct OwnedByThread {
  ~OwnedByThread() {
    own_clocks.counters = nullptr;
    thread_ends = true;  // what else it destroys may count, too
  }
  std::shared_ptr<Counters> counters;
};
constinit thread_local OwnedByThread owned_by_thread;

void keep_for_ever(std::shared_ptr<Counters> counters) {
  static Mutex lock;
  static auto& all MEANTIME_GUARDED_BY(lock) = *new std::vector<std::shared_ptr<Counters>>;
  const LockGuard guard(lock);
  all.push_back(std::move(counters));
}

/// After `switch_on`.
Counters& counters_of(Clocks& clocks) {
  if (clocks.counters == nullptr) {
    auto counters = std::make_shared<Counters>();
    clocks.counters = counters.get();
    if (clocks.fiber == nullptr && !thread_ends) {
      owned_by_thread.counters = std::move(counters);
    } else {
      keep_for_ever(std::move(counters));
    }
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

Counters::~Counters() {
  for (CounterSet left = active; left != 0; left &= left - 1) {
    event_out_of_use(std::countr_zero(left));
  }
}

void Counters::begin(const Clocks& clocks) {
  since_is_valid = 0;
  if (clocks.away) {
    return;
  }
  CounterFiles& files = files_of(*this, clocks);
  if (active != 0) {
    const CounterSet not_read = files.read(active, since);
    since_is_valid = active & ~not_read;
    failed |= not_read;
    follow_core(clocks);
  }
  files.close_what_is_not_in_use();
}

void Counters::settle(const Clocks& clocks) {
  if (active == 0 || clocks.away) {
    return;
  }
  Counts now{};
  const CounterSet not_read = files_of(*this, clocks).read(active, now);
  failed |= not_read;
  CoreCounts& core_counts = core_of(*this, clocks);
  for (CounterSet left = since_is_valid & ~not_read; left != 0; left &= left - 1) {
    const auto event = static_cast<std::size_t>(std::countr_zero(left));
    // Begun anew by a program that has closed the descriptor: less than before.
    const std::uint64_t passed = now[event] > since[event] ? now[event] - since[event] : 0;
    for (std::size_t whom = 0; whom < counted_for_count; ++whom) {
      if ((started[whom] >> event & 1) != 0) {
        ledger::add(ran[whom][event], passed);
        core_counts[whom][event].fetch_add(passed, std::memory_order_relaxed);
      }
    }
  }
  since = now;
  since_is_valid = active & ~not_read;
  follow_core(clocks);
  for (CounterSet left = started[number(CountedFor::tools)]; left != 0; left &= left - 1) {
    const int event = std::countr_zero(left);
    if (tool_starts[static_cast<std::size_t>(event)].load(std::memory_order_relaxed) == 0) {
      stop(CountedFor::tools, event, clocks);
    }
  }
}

/// What its core has counted since the last time; of a core that it has left, until this is seen.
void Counters::follow_core(const Clocks& clocks) {
  const CoreCounts& here = core_of(*this, clocks);
  constexpr std::size_t tools = number(CountedFor::tools);
  for (CounterSet left = started[tools]; left != 0; left &= left - 1) {
    const auto event = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint64_t now = (*core)[tools][event].load(std::memory_order_relaxed);
    ledger::add(cores_ran[event], now - core_since[event]);
    core_since[event] = core == &here ? now : here[tools][event].load(std::memory_order_relaxed);
  }
  core = &here;
}

void Counters::start(CountedFor whom, int event) {
  if ((active & bit(event)) == 0) {
    event_in_use(event);
  }
  if (whom == CountedFor::tools && (started[number(whom)] & bit(event)) == 0) {
    const auto at = static_cast<std::size_t>(event);
    core_since[at] = (*core)[number(whom)][at].load(std::memory_order_relaxed);
  }
  failed &= ~bit(event);
  started[number(whom)] |= bit(event);
  active |= bit(event);
}

void Counters::stop(CountedFor whom, int event, const Clocks& clocks) {
  const CounterSet before = active;
  started[number(whom)] &= ~bit(event);
  active = started[0] | started[1];
  if (((before & ~active) & bit(event)) != 0) {
    event_out_of_use(event);
    if (clocks.fiber == nullptr) {
      own_files.close(event);  // others may use it, but not these
    } else if (!clocks.away) {
      files_of(*this, clocks).close_what_is_not_in_use();
    }
  }
}

namespace {

/// 0, or an errno.
int start(CountedFor whom, int event) {
  Clocks& clocks = own_clocks;
  clocks.switch_on();
  Counters& counters = counters_of(clocks);
  if (!clocks.away) {
    if (const int error = files_of(counters, clocks).open(event); error != 0) {
      counters.failed |= bit(event);  // who goes on all the same reads no 0
      return error;
    }
  }
  clocks.settle_if_going();
  counters.follow_core(clocks);
  counters.start(whom, event);
  if (clocks.stopped == 0) {
    counters.begin(clocks);
  }
  return 0;
}

}  // namespace

bool counter_is_started(int event) {
  const Counters* counters = own_clocks.counters;
  return counters != nullptr && (counters->started[number(CountedFor::program)] & bit(event)) != 0;
}

int start_counter(int event) {
  return start(CountedFor::program, event);
}

void stop_counter(int event) {
  Clocks& clocks = own_clocks;
  if (clocks.counters != nullptr) {
    clocks.settle_if_going();
    clocks.counters->stop(CountedFor::program, event, clocks);
  }
}

bool read_counter(int event, CounterReading& reading) {
  Clocks& clocks = own_clocks;
  clocks.switch_on();
  Counters& counters = counters_of(clocks);
  clocks.settle_if_going();
  constexpr std::size_t program = number(CountedFor::program);
  const auto at = static_cast<std::size_t>(event);
  reading = {counters.ran[program][at].load(std::memory_order_relaxed),
             core_of(counters, clocks)[program][at].load(std::memory_order_relaxed)};
  return (counters.failed & bit(event)) == 0;
}

std::shared_ptr<Counters> start_tool_counter(int event) {
  if (start(CountedFor::tools, event) != 0) {
    return nullptr;
  }
  Counters& counters = *own_clocks.counters;
  counters.tool_starts[static_cast<std::size_t>(event)].fetch_add(1, std::memory_order_relaxed);
  return counters.shared_from_this();
}

void stop_tool_counter(Counters& counters, int event) {
  Clocks& clocks = own_clocks;
  if (clocks.counters == &counters) {
    clocks.settle_if_going();
  }
  const std::uint32_t before =
      counters.tool_starts[static_cast<std::size_t>(event)].fetch_sub(1, std::memory_order_relaxed);
  if (clocks.counters == &counters && before == 1) {
    counters.stop(CountedFor::tools, event, clocks);
  }
}

CounterReading read_tool_counter(Counters& counters, int event) {
  Clocks& clocks = own_clocks;
  if (clocks.counters == &counters) {
    clocks.settle_if_going();
  }
  const auto at = static_cast<std::size_t>(event);
  return {counters.ran[number(CountedFor::tools)][at].load(std::memory_order_relaxed),
          counters.cores_ran[at].load(std::memory_order_relaxed)};
}

}  // namespace meantime::ranks
