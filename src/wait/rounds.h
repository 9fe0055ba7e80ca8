// Rounds: the first turns of a thread rank's wait. It lets all the other ranks of its worker run,
// again and again, as long as there are some; others first, because what it waits for they have to
// do. No clock, no report: most waits end in the first round or two.
#pragma once

#include "base/pause.h"
#include "scheduling/worker.h"

namespace meantime::wait {

inline constexpr int quick_rounds = 32;

/// True if `ready()` within the quick rounds. `progress()` moves what the rank can move, and says
/// whether anything did.
template <class Ready, class Progress>
bool ready_after_rounds(Ready&& ready, Progress&& progress) {
  for (int round = 0; round < quick_rounds; ++round) {
    if (!ranks::yield()) {
      pause();
    }
    if (ready() || (progress() && ready())) {
      return true;
    }
  }
  return false;
}

}  // namespace meantime::wait
