#include "wait/policy.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace meantime::wait {
namespace {

// Waking another core costs 20–50 µs of latency and 12–17 µs of the waker's time, with two virtual
// cores (bench/limits/wake.cpp). Whoever has a core of his own polls for a few of those before he
// sleeps.
constexpr std::uint64_t most_patience_ns = 200'000;
// A message that is under way arrives within these turns (about half a microsecond); anything later
// needs the core for whoever sends it.
constexpr std::uint32_t poll_turns_crowded = 8;
constexpr std::uint32_t poll_turns_event = 64;
constexpr std::uint32_t yield_every = 16;
// Only who sleeps can be found to wait for ever. After so long a wait one wake-up more is nothing.
constexpr std::uint64_t longest_without_sleep_ns = 1'000'000'000;

}  // namespace

Rung Policy::next(std::uint32_t turns, std::uint64_t waited_ns, std::uint64_t patience_ns) const {
  if (waited_ns > longest_without_sleep_ns) {
    return Rung::park;
  }
  switch (mode) {
    case Mode::poll:
      return Rung::poll;
    case Mode::yield:
      return turns < poll_turns_crowded ? Rung::poll : Rung::yield;
    case Mode::event:
      return turns < (crowded ? poll_turns_crowded : poll_turns_event) ? Rung::poll : Rung::park;
    case Mode::adaptive:
      break;
  }
  if (crowded) {
    return turns < poll_turns_crowded ? Rung::poll : Rung::park;
  }
  if (turns >= poll_turns_event && waited_ns >= patience_ns) {
    return Rung::park;
  }
  // The one we wait for may share our core without our knowing: then it runs only if we let it. A
  // yield on a core of our own is over in 0.2 µs.
  return turns >= poll_turns_event && turns % yield_every == 0 ? Rung::yield : Rung::poll;
}

std::uint64_t Policy::patience_after(std::uint64_t waited_ns, std::uint64_t patience_ns) const {
  if (waited_ns > most_patience_ns) {
    return patience_ns / 2;
  }
  return std::min<std::uint64_t>(patience_ns * 2 + 10'000, most_patience_ns);
}

std::uint64_t Policy::first_patience() const {
  return most_patience_ns;
}

Policy policy_from_environment(int ranks, int workers, const char** problem) {
  Policy policy;
  policy.crowded = ranks > workers;
  *problem = nullptr;
  if (const char* setting = std::getenv("MEANTIME_WAIT"); setting != nullptr && *setting != '\0') {
    const std::string_view mode = setting;
    if (mode == "poll") {
      policy.mode = Mode::poll;
    } else if (mode == "yield") {
      policy.mode = Mode::yield;
    } else if (mode == "event") {
      policy.mode = Mode::event;
    } else if (mode != "adaptive") {
      *problem = "MEANTIME_WAIT must be adaptive, poll, yield or event";
    }
  }
  return policy;
}

constinit Policy detail::host_policy;

}  // namespace meantime::wait
