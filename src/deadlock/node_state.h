// What can be said of a node's ranks from its segment alone: whether all of them wait for ever
// (deadlock.h has the argument), and, for who asks whether something may still come from another
// node (over_nodes.h), what they have sent there and taken from there. Reads the segment and /proc,
// so mpiexec may look as well as any rank.
//   under way   sent, and not over to its sender: an offer until its receiver has fetched it
//   offered     an offer that lies at its receiver and is not being fetched
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deadlock/verdict.h"

namespace meantime::node {
class Segment;
}

namespace meantime::wait {

struct NodeState {
  Verdict verdict = Verdict::running;
  std::uint64_t waiting = 0;  ///< ranks that sleep; all others of the node are finalized
  /// Grows with each sleep and each rank that finalizes, and with nothing else.
  std::uint64_t moves = 0;
  // So far, by all ranks of the node; no other figure of a verdict `running` counts.
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  // Now.
  std::uint64_t under_way = 0;
  std::uint64_t offered = 0;

  bool operator==(const NodeState&) const = default;
};

NodeState look_at_node(const node::Segment& segment, Look look);

/// For who has to tell another process: one line of words, without its end, and back again.
std::string words_of(const NodeState& state);
std::optional<NodeState> node_state_of(std::string_view words);

}  // namespace meantime::wait
