#include "shim/waiting.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "base/clock.h"
#include "base/pause.h"
#include "policy/predictor.h"

namespace meantime::shim {
namespace {

/// Before a wait is worth a clock.
constexpr int quick_looks = 64;
/// A nap is this part of how long the wait has lasted: a message comes in the middle of a nap, and
/// so waits become a 32nd longer.
constexpr std::uint64_t nap_part = 16;
constexpr std::uint64_t longest_nap_ns = 10'000'000;
/// Of what is slept too long, so much earlier the next prediction is: when exactly the message came
/// nobody knows.
constexpr std::uint64_t overslept_part = 8;

Host test("PMPI_Test");

std::atomic<std::uint64_t> waits{0};
std::atomic<std::uint64_t> waited_ns{0};
std::atomic<std::uint64_t> asleep_ns{0};

/// What a thread has learnt of its waits.
struct Learnt {
  // Timers of this thread are as exact as the kernel can: what the launcher has set is for others.
  Learnt() { prctl(PR_SET_TIMERSLACK, 1); }

  wait::Lateness lateness;
  std::unordered_map<const void*, wait::Predictor> sites;
};

Learnt& learnt() {
  static thread_local Learnt own;
  return own;
}

class Wait {
 public:
  Wait(Request& request, const void* site)
      : request_(request), learnt_(learnt()), site_(learnt_.sites[site]), began_(now_ns()) {}
  ~Wait() {
    const std::uint64_t lasted = now_ns() - began_;
    site_.learn({.waited_ns = came_ns_ != 0 ? came_ns_ : lasted});
    waits.fetch_add(1, std::memory_order_relaxed);
    waited_ns.fetch_add(lasted, std::memory_order_relaxed);
    asleep_ns.fetch_add(asleep_, std::memory_order_relaxed);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  int run() {
    const std::uint64_t late = learnt_.lateness.typical_ns();
    const wait::Plan plan = site_.plan(learnt_.lateness, late, late);
    if (plan.sleep_until_ns != 0) {
      sleep_until(plan.sleep_until_ns);
      if (look()) {
        came_ns_ = plan.sleep_until_ns - plan.sleep_until_ns / overslept_part;
        return error_;
      }
    }
    // Where nothing is expected as long as a nap would be late by.
    const std::uint64_t poll_until =
        std::max(plan.poll_until_ns, plan.sleep_until_ns == 0 ? nap_part * late : 0);
    while (lasted() < poll_until) {
      if (look()) {
        return error_;
      }
      wait::pause();
    }
    for (;;) {
      const std::uint64_t before = lasted();
      sleep_until(before + std::min(before / nap_part, longest_nap_ns));
      if (look()) {
        came_ns_ = before;
        return error_;
      }
    }
  }

 private:
  std::uint64_t lasted() const { return now_ns() - began_; }

  /// True: it is over.
  bool look() {
    int done = 0;
    Status status;
    error_ = test(&request_.value, &done, &status);
    return done != 0 || error_ != success;
  }

  void sleep_until(std::uint64_t since_began_ns) {
    const std::uint64_t from = lasted();
    if (since_began_ns <= from) {
      return;
    }
    const std::uint64_t until = began_ + since_began_ns;
    const timespec when{static_cast<time_t>(until / 1'000'000'000u),
                        static_cast<long>(until % 1'000'000'000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    const std::uint64_t woke = lasted();
    asleep_ += woke - from;
    if (woke > since_began_ns) {
      learnt_.lateness.learn(woke - since_began_ns);
    }
  }

  Request& request_;
  Learnt& learnt_;
  wait::Predictor& site_;
  const std::uint64_t began_;
  std::uint64_t came_ns_ = 0;  ///< about, of one that came in a sleep
  std::uint64_t asleep_ = 0;
  int error_ = success;
};

}  // namespace

int wait_for(Request& request, const void* site) {
  for (int looks = 0; looks < quick_looks; ++looks) {
    int done = 0;
    Status status;
    const int error = test(&request.value, &done, &status);
    if (done != 0 || error != success) {
      return error;
    }
  }
  return Wait(request, site).run();
}

Waited waited() {
  return {waits.load(), waited_ns.load(), asleep_ns.load()};
}

}  // namespace meantime::shim
