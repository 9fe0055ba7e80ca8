// What the scheduler of a host says of one of its thread ranks, read from outside
// (scheduling/view.h).
#pragma once

#include <cstdint>
#include <optional>

#include "node/layout.h"
#include "scheduling/worker.h"

namespace meantime::wait {

struct Scheduled {
  ranks::State state = ranks::State::init;
  bool begun = false;  ///< it has run at all
};

/// Nothing for a process rank, and where the kernel does not let us read that process.
std::optional<Scheduled> scheduled(const node::RankArea& area);

}  // namespace meantime::wait
