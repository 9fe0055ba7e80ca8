#include "core/request/segment_memory.h"

#include "core/request/point_to_point.h"
#include "core/request/progress.h"
#include "match/engine.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"

namespace meantime::core {
namespace {

class AwaitedMemory final : public wait::Awaited {
 public:
  AwaitedMemory(const Communicator& comm, const std::function<node::Link()>& look, bool needed)
      : comm_(comm), look_(look), needed_(needed), starves_(self().engine->memory) {}

  bool ready() override { return found != 0 || without_; }
  bool progress() override {
    const bool moved = core::progress();
    if (found == 0) {
      found = look_();
    }
    return moved || found != 0;
  }
  void arm(node::Waiter& waiter) override {
    wait::expect(waiter, 1);
    arm_background(waiter);
  }
  void disarm(node::Waiter& waiter) override { disarm_background(waiter); }
  int cost_of_look() const override { return core::cost_of_look(self()); }
  void about_to_sleep() override { let_go_before_sleep(self()); }
  void describe(wait::Situation& situation) const override {
    situation.context = comm_.context;
    situation.name = &comm_.name_or_origin();
    situation.policy = comm_.waiting.get();
  }

  bool goes_without() override { return without_ = !needed_; }

  node::Link found = 0;

 private:
  const Communicator& comm_;
  const std::function<node::Link()>& look_;
  const bool needed_;
  bool without_ = false;
  const match::Memory::Starves starves_;
};

node::Link await_memory(const Communicator& comm, std::size_t bytes,
                        const std::function<node::Link()>& look, bool needed,
                        void (*until)(wait::Awaited&)) {
  const node::Link place = look();
  if (place != 0 || bytes >= node::segment().header().heap_end.load(std::memory_order_relaxed)) {
    return place;
  }
  AwaitedMemory awaited(comm, look, needed);
  until(awaited);
  return awaited.found;
}

}  // namespace

node::Link segment_memory(const Communicator& comm, std::size_t bytes,
                          const std::function<node::Link()>& look) {
  return await_memory(comm, bytes, look, false, wait::until);
}

node::Link needed_segment_memory(const Communicator& comm, std::size_t bytes,
                                 const std::function<node::Link()>& look,
                                 void (*until)(wait::Awaited&)) {
  return await_memory(comm, bytes, look, true, until);
}

node::Link segment_memory(const Communicator& comm, std::size_t bytes) {
  return segment_memory(comm, bytes, [bytes] { return self().engine->memory.find(bytes); });
}

}  // namespace meantime::core
