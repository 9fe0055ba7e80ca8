#include "shim/waiting.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "base/clock.h"
#include "base/pause.h"
#include "policy/predictor.h"
#include "shim/function.h"
#include "shim/steal_words.h"
#include "shim/trials.h"

namespace meantime::shim {
namespace {

/// Before a wait is worth a clock.
constexpr int quick_looks = 64;
/// A nap is this part of how long nothing has moved in the wait: a message comes in the middle of a
/// nap, and so waits become a 32nd longer.
constexpr std::uint64_t nap_part = 16;
constexpr std::uint64_t longest_nap_ns = 10'000'000;
/// Of a nap: an MPI may need many calls for what has come meanwhile, a piece each.
constexpr int looks_a_nap = 64;
/// A look that takes so much longer than the shortest has moved something, or was interrupted. What
/// moves in pieces has its next one soon; the machine's interrupts are 30 times as far apart
/// (measured: one in 1 to 10 ms).
constexpr std::uint64_t look_of_work_ns = 200;
constexpr std::uint64_t next_piece_ns = 32'000;
/// What ends a sleep has come so much earlier, as far as is known.
constexpr std::uint64_t overslept_part = 8;

/// A guest function's slices are not for waits that are shorter than so many of them.
constexpr std::uint64_t slices_before_work = 3;

Host test("PMPI_Test");

/// What a wait begins with: `meantime steal --mode`.
enum class Mode { predicted, ade, naps };

Mode mode() {
  static const Mode said = [] {
    const char* const variable = std::getenv(mode_variable);
    const std::string_view word = variable != nullptr ? variable : "";
    return word == "ade" ? Mode::ade : word == "naps" ? Mode::naps : Mode::predicted;
  }();
  return said;
}

struct AdeNumbers {
  std::uint64_t step_ns = 50'000;
  std::uint64_t threshold_ns = 5'000;
};

const AdeNumbers& ade_numbers() {
  static const AdeNumbers said = [] {
    AdeNumbers numbers;
    if (const char* const text = std::getenv(ade_variable)) {
      char* end = nullptr;
      numbers.step_ns = std::strtoull(text, &end, 10);
      numbers.threshold_ns = std::strtoull(end, nullptr, 10);
    }
    return numbers;
  }();
  return said;
}

// Sums of all threads, read when MPI is over for all: they order nothing.
std::atomic<std::uint64_t> waited_ns{0};
std::atomic<std::uint64_t> asleep_ns{0};

/// What a thread has learnt of the waits at a place of the program.
struct Site {
  wait::Predictor predictor;
  wait::Ade ade;
};

/// What a thread has learnt of its waits.
struct Learnt {
  // Timers of this thread are as exact as the kernel can: what the launcher has set is for others.
  Learnt() { prctl(PR_SET_TIMERSLACK, 1); }

  /// Places of the program that have the same share one: it predicts less for both.
  Site& at(const void* site) {
    return sites[(reinterpret_cast<std::uintptr_t>(site) * spread >> 32) % std::size(sites)];
  }
  static constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;

  wait::Lateness lateness;
  wait::Lateness slices;  ///< of a guest function: how long they take
  std::uint64_t shortest_look_ns = ~std::uint64_t{0} / 4;
  Site sites[64];
};
// Programs end MPI in destructors of their static objects, when a thread's own are gone.
static_assert(std::is_trivially_destructible_v<Learnt>);

Learnt& learnt() {
  static thread_local Learnt own;
  return own;
}

class Wait {
 public:
  Wait(Look& look, const void* site)
      : look_(look),
        learnt_(learnt()),
        site_(learnt_.at(site)),
        working_(function() != nullptr && function()->enter()),
        began_(now_ns()) {}
  ~Wait() {
    const std::uint64_t lasted = now_ns() - began_;
    site_.predictor.learn({.waited_ns = came_ns_ != 0 ? came_ns_ : lasted});
    if (mode() == Mode::ade) {
      site_.ade.learn({.waited_ns = lasted, .woke_ns = woke_ns_, .signalled = came_ns_ != 0},
                      ade_numbers().step_ns, ade_numbers().threshold_ns);
    }
    if (working_) {
      function()->leave(function_account());
    }
    waited_ns.fetch_add(lasted, std::memory_order_relaxed);
    asleep_ns.fetch_add(asleep_, std::memory_order_relaxed);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  int run() { return working_ ? run_working() : run_sleeping(); }

 private:
  int run_sleeping() {
    const std::uint64_t late = learnt_.lateness.typical_ns();
    const std::uint64_t first = first_sleep(late);
    if (first > late) {
      sleep(first);
      woke_ns_ = now_ns() - began_;
      if (look()) {
        came_ns_ = first - first / overslept_part;
        return error_;
      }
    }
    for (;;) {
      const std::uint64_t now = now_ns();
      const std::uint64_t quiet = now - quiet_since_;
      // A shorter nap would be later than it is long.
      if (quiet >= nap_part * late && now - worked_at_ >= next_piece_ns) {
        const std::uint64_t before = now_ns() - began_;
        look_at_trials();
        sleep(std::min(quiet / nap_part, longest_nap_ns));
        if (look()) {
          came_ns_ = before;
          return error_;
        }
      }
      if (look_for_a_while()) {
        return error_;
      }
    }
  }

  std::uint64_t first_sleep(std::uint64_t late) const {
    switch (mode()) {
      case Mode::naps:
        return 0;
      case Mode::ade:
        return site_.ade.plan(0).sleep_until_ns;
      case Mode::predicted:
        break;
    }
    // Half of it: whom we wait for may be waiting for us, and each would take the other's sleep for
    // its message's lateness.
    return site_.predictor.plan(learnt_.lateness, late, late).sleep_until_ns / 2;
  }

  /// Slices, but when the end of the wait is expected: to the predictor a slice is a sleep, and
  /// what is left of one when a message comes is a timer's lateness. Nothing is overslept for long.
  int run_working() {
    guest::Function& guest = *function();
    const std::uint64_t slice = learnt_.slices.typical_ns();
    const wait::Plan plan = site_.predictor.plan(learnt_.slices, slices_before_work * slice, slice);
    const auto expected = [](std::uint64_t at, std::uint64_t from, std::uint64_t to) {
      return from <= at && at < to;
    };
    std::uint64_t not_before = 0;
    for (std::uint64_t now = now_ns();; now = now_ns()) {
      look_at_trials();
      const std::uint64_t at = now - began_;
      const bool may_work =
          at < plan.sleep_until_ns || now - quiet_since_ >= slices_before_work * slice;
      if (may_work && function_may_work() && now >= not_before &&
          now - worked_at_ >= next_piece_ns &&
          !expected(at, plan.sleep_until_ns, plan.poll_until_ns) &&
          !expected(at, plan.second.sleep_until_ns, plan.second.poll_until_ns)) {
        const std::uint64_t from = now;
        not_before = guest.slice(now, function_account());
        if (not_before == 0) {
          learnt_.slices.learn(now - from);
        }
        if (look()) {
          came_ns_ = (from + now) / 2 - began_;
          return error_;
        }
      } else if (look_for_a_while()) {
        return error_;
      }
    }
  }

  bool look_for_a_while() {
    for (int looks = 0; looks < looks_a_nap; ++looks) {
      if (look()) {
        return true;
      }
      wait::pause();
    }
    return false;
  }

  /// True: it is over.
  bool look() {
    int done = 0;
    const std::uint64_t before = now_ns();
    error_ = look_(&done);
    const std::uint64_t after = now_ns();
    learnt_.shortest_look_ns = std::min(learnt_.shortest_look_ns, after - before);
    if (after - before > 2 * learnt_.shortest_look_ns + look_of_work_ns) {
      if (after - worked_at_ < next_piece_ns) {
        quiet_since_ = after;
      }
      worked_at_ = after;
    }
    return done != 0 || error_ != success;
  }

  void sleep(std::uint64_t ns) {
    const std::uint64_t from = now_ns();
    const std::uint64_t until = from + ns;
    const timespec when{static_cast<time_t>(until / 1'000'000'000u),
                        static_cast<long>(until % 1'000'000'000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    const std::uint64_t woke = now_ns();
    asleep_ += woke - from;
    if (woke > until) {
      learnt_.lateness.learn(woke - until);
    }
  }

  Look& look_;
  Learnt& learnt_;
  Site& site_;
  const bool working_;  ///< between looks it calls the guest function
  const std::uint64_t began_;
  std::uint64_t quiet_since_ = began_;  ///< no look has moved anything
  std::uint64_t worked_at_ = 0;         ///< the last look that may have
  std::uint64_t woke_ns_ = 0;           ///< from the first sleep
  std::uint64_t came_ns_ = 0;           ///< about, of one that came in a sleep
  std::uint64_t asleep_ = 0;
  int error_ = success;
};

}  // namespace

int wait_by(Look& look, const void* site) {
  note_wait();
  for (int looks = 0; looks < quick_looks; ++looks) {
    int done = 0;
    const int error = look(&done);
    if (done != 0 || error != success) {
      return error;
    }
  }
  return Wait(look, site).run();
}

int wait_for(Request& request, const void* site) {
  Status status;
  return wait_until([&](int* over) { return test(&request.value, over, &status); }, site);
}

Waited waited() {
  return {waited_ns.load(std::memory_order_relaxed), asleep_ns.load(std::memory_order_relaxed)};
}

}  // namespace meantime::shim
