// What a rank's environment may set (docs/architecture.md has the list; MEANTIME_WAIT is
// wait/policy.h's). Read once, in MPI_Init, and strictly: a setting that is not understood would
// otherwise be taken for one that has no effect.
#pragma once

#include <cstdint>
#include <string>

#include "match/engine.h"

namespace meantime::core {

struct Settings {
  std::uint32_t on_deadlock = 0;  ///< 0 abort, 1 report, 2 ignore
  bool cross_memory = true;
  bool always_move = false;  ///< a test setting: thread ranks change workers whenever they wait
};

/// Returns what is wrong with them in one line, or nothing. `limits` has the defaults before.
std::string read_settings(Settings& settings, match::Limits& limits);

}  // namespace meantime::core
