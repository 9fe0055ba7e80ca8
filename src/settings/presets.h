// The ways to wait, each as knobs and a prediction, in one table. The knobs are those of the paper
// on event-based communication: a wait climbs from polling over yielding to sleeping.
//   tries_poll    looks that find nothing before it goes on to yield
//   tries_yield   looks with a sched_yield each before it sleeps
//   timeout_us    how long it sleeps at most before it begins anew; a message ends the sleep in any
//                 case, so no timeout is needed
//   endless       for a knob: the climb ends on that rung
//   0             for a knob: the rung is skipped
//   prediction    what decides beside the knobs, from earlier waits at the same call site
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace meantime::wait {

inline constexpr std::uint64_t endless = ~std::uint64_t{0};

enum class Prediction : std::uint8_t {
  none,
  patience,  ///< goes on polling as long as waits here were short lately (policy.h)
  timer,     ///< sleeps until shortly before the message is expected, then polls (predictor.h)
  ade,       ///< adaptive deadline estimation: sleeps for an estimated time, then polls
};

struct Knobs {
  std::uint64_t tries_poll = 0;
  std::uint64_t tries_yield = 0;
  std::uint64_t timeout_us = endless;
};

struct Preset {
  std::string_view name;
  Knobs knobs;
  /// tries_poll where polling does not pay: where ranks share cores (who polls there keeps the one
  /// it waits for from running), and at a call site whose waits have been long lately.
  std::uint64_t few_tries_poll;
  Prediction prediction;
  bool shared;  ///< as if ranks shared cores, whether they do or not
  std::string_view meaning;
};

// A message that is under way arrives within 8 looks (about half a microsecond, with progress in
// each); 64 looks are some 4 us, a third of what a sleep takes of the waiter's CPU in all, and keep
// a zero-delay ping-pong from sleeping.
// clang-format off
inline constexpr Preset presets[] = {
    //                  tries_poll tries_yield timeout  few      prediction
    {"adaptive",        {64,       0,          endless}, 8,       Prediction::patience, false,
     "polls while waits are short and cores are free, then sleeps"},
    {"poll",            {endless,  0,          endless}, endless, Prediction::none,     false,
     "polls, sleeps only after a second: never more ranks than cores"},
    {"yield",           {8,        endless,    endless}, 8,       Prediction::none,     false,
     "gives the core away between looks, sleeps only after a second"},
    {"event",           {64,       0,          endless}, 8,       Prediction::none,     false,
     "sleeps after a few looks, until the message comes"},
    {"predicted",       {64,       0,          endless}, 8,       Prediction::timer,    false,
     "as event, but is awake just before the message is expected"},
    {"ade",             {64,       0,          endless}, 8,       Prediction::ade,      false,
     "sleeps for a time estimated by ADE, then polls"},
    {"overprovisioned", {8,        2,          endless}, 8,       Prediction::none,     true,
     "many ranks a core: gives the core away, then sleeps"},
};
// clang-format on

/// What comes before the climb where ranks share cores, if neither tries_poll nor tries_yield is
/// set by hand (policy.h, yielding.h); packaging/settings-page says the same.
constexpr std::string_view first_yields(const Preset& preset) {
  return preset.knobs.tries_yield != 0 || preset.knobs.tries_poll == endless ? ""
         : preset.prediction == Prediction::patience
             ? " (up to 24 where ranks share cores)"
             : " (up to 24 in collectives where ranks share cores)";
}

inline constexpr auto preset_names = [] {
  std::array<std::string_view, std::size(presets)> names{};
  for (std::size_t index = 0; index < std::size(presets); ++index) {
    names[index] = presets[index].name;
  }
  return names;
}();

/// The row of that name, or nullptr.
constexpr const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets) {
    if (preset.name == name) {
      return &preset;
    }
  }
  return nullptr;
}

}  // namespace meantime::wait
