// What a program changed while it ran about how its ranks wait: kept for `mpiexec --report`, which
// otherwise knows only how the job was started. A page of a rank in the segment, made at its first
// change; each change is noted once, however often it is made, and of many the first ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "node/layout.h"

namespace meantime::ledger {

enum class ChangedBy : std::uint32_t {
  rank,          ///< MPIX_Setting_set, or a tool's control variable
  communicator,  ///< a communicator's info, of calls on it
  handler,       ///< MPIX_Energy_handler_reg
};

struct Change {
  ChangedBy by;
  char text[60];  ///< "MEANTIME_WAIT=poll"; ends with 0
};

/// Only the owner writes. A change is complete before `used` counts it (release), and never
/// changes.
struct ChangePage {
  static constexpr std::size_t bytes = 1024;
  static constexpr int most = (bytes - node::cache_line) / sizeof(Change);

  std::atomic<std::uint32_t> used;
  std::atomic<std::uint32_t> left_out;  ///< changes that there was no room for, each time counted
  alignas(node::cache_line) Change change[most];
};
static_assert(sizeof(ChangePage) <= ChangePage::bytes);

/// The rank's lock is held. A change that the node has no memory for is not shown.
void note_change(node::RankArea& area, ChangedBy by, std::string_view name,
                 std::string_view value = {});

}  // namespace meantime::ledger
