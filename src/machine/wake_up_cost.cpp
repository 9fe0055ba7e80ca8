#include "machine/wake_up_cost.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "machine/wake_up_cache.h"

namespace meantime::machine {
namespace {

constexpr std::uint32_t rounds = 15;
/// Fewer say nothing.
constexpr std::size_t least_rounds = 9;
/// From the sleeper's last word to the system call: by then it sleeps.
constexpr std::uint64_t settle_ns = 20'000;
constexpr std::uint64_t time_limit_ns = 3'000'000;

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout = nullptr) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout,
                 nullptr, 0);
}

void stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/// Shared by sleeper, waker and whoever wants to know; the last of them frees it.
class Measurement {
 public:
  explicit Measurement(std::uint64_t end_ns) : end_ns_(end_ns) {}

  /// Sleeps until each round's wake-up and says when it was up.
  void sleep_on(int cpu) {
    stay_on(cpu);
    for (std::uint32_t round = 1; round <= rounds && !over(); ++round) {
      about_to_sleep_.store(round, std::memory_order_release);
      while (rung_.load(std::memory_order_acquire) < round && !over()) {
        const timespec limit{0, static_cast<long>(time_limit_ns)};
        futex(rung_, FUTEX_WAIT_PRIVATE, round - 1, &limit);
      }
      up_ns_.store(now_ns(), std::memory_order_relaxed);
      up_.store(round, std::memory_order_release);
    }
  }

  void wake_from(int cpu) {
    stay_on(cpu);
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      while (about_to_sleep_.load(std::memory_order_acquire) < round) {
        if (over()) {
          return finish();
        }
      }
      const std::uint64_t quiet = now_ns();
      while (now_ns() - quiet < settle_ns) {
      }
      const std::uint64_t called = now_ns();
      rung_.store(round, std::memory_order_release);
      futex(rung_, FUTEX_WAKE_PRIVATE, 1);
      while (up_.load(std::memory_order_acquire) < round) {
        if (over()) {
          return finish();
        }
      }
      costs_.push_back(up_ns_.load(std::memory_order_relaxed) - called);
    }
    finish();
  }

  /// The upper quartile, once the waker has finished; nothing if that takes too long or says
  /// nothing.
  std::optional<std::uint64_t> result() {
    while (finished_.load(std::memory_order_acquire) == 0) {
      const std::uint64_t now = now_ns();
      if (now >= end_ns_) {
        return std::nullopt;
      }
      const timespec limit{0, static_cast<long>(end_ns_ - now)};
      futex(finished_, FUTEX_WAIT_PRIVATE, 0, &limit);
    }
    if (costs_.size() < least_rounds) {
      return std::nullopt;
    }
    std::sort(costs_.begin(), costs_.end());
    const std::size_t count = costs_.size();
    if (costs_[count * 3 / 4] > 3 * costs_[count / 4]) {
      return std::nullopt;
    }
    return costs_[count * 3 / 4];
  }

 private:
  bool over() const { return now_ns() >= end_ns_; }

  /// Afterwards `costs_` is the asker's.
  void finish() {
    finished_.store(1, std::memory_order_release);
    futex(finished_, FUTEX_WAKE_PRIVATE, 1);
  }

  const std::uint64_t end_ns_;
  std::vector<std::uint64_t> costs_;
  std::atomic<std::uint32_t> about_to_sleep_{0};
  std::atomic<std::uint32_t> rung_{0};  ///< the futex
  std::atomic<std::uint64_t> up_ns_{0};
  std::atomic<std::uint32_t> up_{0};
  std::atomic<std::uint32_t> finished_{0};
};

constexpr char no_figure[] = "not measured: the machine is busy, or it is one CPU";

}  // namespace

bool choose_cpus(int& first, int& last) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) < 2) {
    return false;
  }
  first = last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) {
      first = first < 0 ? cpu : first;
      last = cpu;
    }
  }
  return true;
}

std::optional<std::uint64_t> measure_wake_up_ns() {
  int first = -1;
  int last = -1;
  if (!choose_cpus(first, last)) {
    return std::nullopt;
  }
  const auto measurement = std::make_shared<Measurement>(now_ns() + time_limit_ns);
  try {
    // Not waited for: on a busy CPU they may take their time to begin, and then see that it is
    // over.
    std::thread([measurement, last] { measurement->sleep_on(last); }).detach();
    std::thread([measurement, first] { measurement->wake_from(first); }).detach();
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> cost = measurement->result();
  return cost ? std::optional(std::clamp(*cost, least_wake_up_ns, most_wake_up_ns)) : std::nullopt;
}

WakeUpCost wake_up_cost() {
  WakeUpCache cache;
  if (const std::uint64_t known = cache.read(); known != 0) {
    return {known, "from " + cache.path()};
  }
  if (const std::optional<std::uint64_t> measured = measure_wake_up_ns()) {
    const bool kept = cache.write(*measured);
    return {*measured, kept ? "measured, now in " + cache.path() : "measured; no cache to keep it"};
  }
  return {0, no_figure};
}

WakeUpCost changed_wake_up_cost() {
  const std::optional<std::uint64_t> measured = measure_wake_up_ns();
  return measured ? WakeUpCost{*measured, "measured under this job's bound on idle states"}
                  : WakeUpCost{0, no_figure};
}

}  // namespace meantime::machine
