#include "launch/inspect/stillness.h"

#include "deadlock/room.h"
#include "node/segment.h"
#include "protocol/call_names.h"

namespace meantime::launch {
namespace {

using Next = wait::OverNodes::Next;

/// Of all nodes, for as long as they are looked at.
class Mapped {
 public:
  explicit Mapped(const std::vector<int>& descriptors) : segments_(descriptors.size()) {
    for (std::size_t node = 0; node < descriptors.size(); ++node) {
      complete_ = segments_[node].map(descriptors[node]) == 0 && complete_;
      all_.push_back(&segments_[node]);
    }
  }
  ~Mapped() {
    for (node::Segment& segment : segments_) {
      segment.unmap();
    }
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const std::vector<const node::Segment*>& all() const { return all_; }

 private:
  std::vector<node::Segment> segments_;
  std::vector<const node::Segment*> all_;
  bool complete_ = true;
};

}  // namespace

wait::NodeState state_of_node(const std::vector<int>& segments) {
  const Mapped mapped(segments);
  return mapped.complete() && !mapped.all().empty()
             ? wait::look_at_node(*mapped.all().front(), wait::Look::thorough)
             : wait::NodeState{};
}

std::string room_of_nodes(const std::vector<int>& segments) {
  const Mapped mapped(segments);
  return mapped.complete() && !mapped.all().empty() ? wait::describe_room(mapped.all(), call_name)
                                                    : std::string();
}

Next look_over_nodes(wait::OverNodes& nodes, const std::vector<int>& segments) {
  const Mapped mapped(segments);
  if (!mapped.complete()) {
    return Next::nothing;
  }
  Next next = nodes.begin();
  while (next == Next::ask_all) {
    const std::uint64_t wave = nodes.wave();
    next = Next::wait;
    for (std::size_t node = 0; next == Next::wait; ++node) {
      next = nodes.take(wave, node, wait::look_at_node(*mapped.all()[node], wait::Look::thorough));
    }
  }
  return next;
}

}  // namespace meantime::launch
