// The policy: after each fruitless turn of a wait it names the next rung.
//   poll         look again at once
//   yield        give the core to whoever wants it, look again
//   park         sleep in the kernel until signalled
//   settings     what somebody said about waiting; what he did not say is the preset's (presets.h)
// Settings: MEANTIME_WAIT and the knobs MEANTIME_TRIES_POLL, _TRIES_YIELD and _TIMEOUT.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/heuristics.h"
#include "policy/predictor.h"
#include "settings/presets.h"

namespace meantime::wait {

enum class Step : std::uint8_t { poll, yield, park };

/// What a wake-up counts as costing where nobody has measured it: in the middle of what it cost
/// between two virtual cores (bench/wakeup).
inline constexpr std::uint64_t unknown_wake_up_ns = 33'000;

struct Policy {
  Knobs knobs;
  Prediction prediction = Prediction::patience;
  bool crowded = false;  ///< more ranks than workers: a polling rank holds up the one it waits for
  bool gives_way = false;  ///< a wait begins by giving the core away (yielding.h)
  /// … at a gate: there also who is not to yield otherwise, but sleep. All others of this core come
  /// there too, and to let them costs one switch, where to sleep and be woken costs several.
  bool gives_way_at_gates = false;
  bool timed = false;                             ///< some of its sleeps end by themselves
  std::uint64_t wake_up_ns = unknown_wake_up_ns;  ///< what waking a sleeper costs here
  std::uint64_t ade_step_ns = 0;                  ///< of Prediction::ade: the paper's η …
  std::uint64_t ade_threshold_ns = 0;             ///< … and ε
  std::uint64_t tries_poll_of_long_waits = 0;  ///< the preset's few, unless somebody said how many
  std::uint64_t round = 0;  ///< turns after which a climb that never sleeps begins anew, or 0
  const Preset* preset = nullptr;

  /// `turns`: fruitless turns so far, `waited_ns`: so long nothing has moved, or the wait took, by
  /// what the plan counts from (predictor.h); 0 until the clock is looked at (every 64 turns).
  Step next(std::uint32_t turns, std::uint64_t waited_ns, const Plan& plan) const;
  /// Looks before anything else, in a wait that goes by `plan`.
  std::uint64_t tries_poll(const Plan& plan) const {
    return plan.waits_are_long ? tries_poll_of_long_waits : knobs.tries_poll;
  }

  /// False if it only polls or yields, for a second at least.
  bool sleeps() const;
  /// It polls for as long as has been worth it lately.
  bool learns_patience() const { return prediction == Prediction::patience && !crowded; }

  /// The patience for the next wait, from the longest lull of this one. Polling pays for waits that
  /// are over within a few wake-ups; where waits are longer, or where a busy machine gives the core
  /// that we poll on to somebody we wait for only once we let go of it, patience shrinks to
  /// nothing within a dozen waits, and it comes back as quickly when waits become short again.
  std::uint64_t patience_after(std::uint64_t lull_ns, std::uint64_t patience_ns) const;
  std::uint64_t first_patience() const;
  /// A call site with so little patience has seen nothing but long waits lately: about eight.
  /// (What that brings: of a wait's CPU 2 to 3 us of some 28: `event`, 200 us late 25.7 for 27.7, 1
  /// ms late 27.1 for 29.9, in each of nine pairs of runs.)
  static bool waits_are_long(std::uint64_t patience_ns) {
    return uses(Heuristic::few_looks) && patience_ns < little_patience_ns;
  }
  static constexpr std::uint64_t little_patience_ns = 1'000;
  /// A few wake-ups: nobody polls for longer because he has learned to.
  std::uint64_t most_patience() const;

  /// What it makes of a setting about waiting, as a text; empty for any other setting.
  std::string value(std::string_view setting) const;
};

struct PolicySettings {
  const Preset* preset = nullptr;
  std::optional<std::uint64_t> tries_poll;
  std::optional<std::uint64_t> tries_yield;
  std::optional<std::uint64_t> timeout_us;
  std::optional<std::uint64_t> ade_step_us;
  std::optional<std::uint64_t> ade_threshold_us;
  std::optional<std::uint64_t> wake_up_us;  ///< nothing: as measured

  /// Adds what a setting says ("MEANTIME_TRIES_POLL", "100"); "" takes back what was said. Returns
  /// one line about what is wrong with it, and then nothing has changed. Settings that are not
  /// about waiting are ignored.
  std::string add(std::string_view setting, std::string_view value);
};

/// `crowded`: more ranks than workers.
Policy make_policy(const PolicySettings& given, bool crowded);

/// From the settings; `value` gives a setting's value by name, empty: not set. One line in *problem
/// if they make no sense.
PolicySettings policy_settings_from(
    const std::function<std::string(std::string_view setting)>& value, std::string* problem);

/// After so long a wait every policy sleeps, without a timer: only of who sleeps so can be found
/// that it waits for ever. One wake-up more is nothing then.
inline constexpr std::uint64_t longest_without_sleep_ns = 1'000'000'000;

namespace detail {
extern constinit Policy host_policy;
extern constinit PolicySettings host_policy_settings;
extern constinit std::uint64_t host_wake_up_ns;
extern constinit bool host_beside_guests;
}  // namespace detail

/// This host's policy: set in MPI_Init, constant afterwards. A rank begins with it, and may get
/// another one (Rank::policy).
inline Policy& policy() {
  return detail::host_policy;
}
/// What made it so.
inline PolicySettings& policy_settings() {
  return detail::host_policy_settings;
}

/// What a wake-up costs here, as measured by mpiexec (src/machine); set before `policy` is made.
inline std::uint64_t& measured_wake_up_ns() {
  return detail::host_wake_up_ns;
}

/// Whether the job has guests (src/guest), somebody else's work that has whatever is left of a
/// core. A yield leaves it up to a time slice, and nobody is woken early from that. Set in
/// MPI_Init.
inline bool& beside_guests() {
  return detail::host_beside_guests;
}

}  // namespace meantime::wait
