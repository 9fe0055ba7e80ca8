// Whether the ranks of several nodes wait for each other for ever, from what each node says of
// itself (NodeState). Knows nothing of how that comes, nor of time: whoever drives it, on one of
// the nodes or above them, asks all nodes when it is told to, and brings the answers.
//   still   a node all of whose ranks wait, and only something from another node can wake one. It
//           says so by itself, once a stillness
//   wave    one answer of each node, to a question that was put after the wave was begun
//
// Why it is no false alarm. In two waves all nodes were still, and each said the same both times.
// A node that is still becomes awake only by taking something that another one has sent, and then
// its `taken` is another for ever; so each was still from its first answer to its second one. The
// second wave is begun when the first is complete: at that moment all were still at once, with the
// figures that they said. Then something could come only from what was under way between them. A
// message that was sent and not taken is missing in the sum of `taken`. A payload that somebody
// fetches keeps its node from being still (NodeState has no verdict for that). An acknowledgement,
// by which a send is over, was sent by the last who was awake at its receiver: so that offer is not
// `offered` there any more, and is still `under way` at its sender, and the two sums differ. (What
// is under way is never less than what is offered: so no two faults cancel each other.)
//
// Why a deadlock is found. The last node to become still says so after that, or, what was under way
// or in doubt meanwhile is looked at again later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "deadlock/node_state.h"

namespace meantime::wait {

class OverNodes {
 public:
  enum class Next : std::uint8_t {
    wait,        ///< for the other answers
    ask_all,     ///< for wave()
    nothing,     ///< a node is awake: it will say when it is still
    look_later,  ///< begin(), after a while: no node is awake, but something is under way or in
                 ///< doubt
    deadlock
  };

  explicit OverNodes(std::size_t nodes) : first_(nodes), second_(nodes) {}

  /// A node is still, or it is time to look again: ask_all, or wait, if a wave is under way.
  Next begin();
  std::uint64_t wave() const { return wave_; }
  /// Answers of earlier waves count no more.
  Next take(std::uint64_t wave, std::size_t node, const NodeState& state);

 private:
  using Answers = std::vector<std::optional<NodeState>>;

  Next first_wave();
  Next end(Next result);

  std::uint64_t wave_ = 0;
  bool under_way_ = false;
  bool is_second_ = false;
  bool again_ = false;  ///< a node became still meanwhile, perhaps after its answer
  Answers first_;
  Answers second_;
};

}  // namespace meantime::wait
