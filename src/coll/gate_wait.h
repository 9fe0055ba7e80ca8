// Waiting at a gate: a rank gives its core to the others a few times, because one of them may be
// the last to arrive, then it sleeps, by the core it ran on.
#pragma once

#include "coll/state.h"
#include "wait/wait.h"

namespace meantime {
struct Communicator;
}

namespace meantime::coll {

class GateWait final : public wait::Awaited {
 public:
  GateWait(Communicator& comm, const State& state, std::uint64_t epoch, Gate gate);
  /// Returns when the gate is open and those behind this rank have been signalled.
  void wait();

  bool ready() override {
    return stage_.opened[static_cast<int>(gate_)].load(std::memory_order_seq_cst) >= epoch_;
  }
  bool progress() override;
  void arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void about_to_sleep() override;
  void describe(wait::Situation& situation) const override;
  wait::Kind kind() const override { return wait::Kind::gate; }

 private:
  void take_ticket();

  Communicator& comm_;
  const State& state_;
  const Area& area_;
  Stage& stage_;
  const std::uint64_t epoch_;
  const Gate gate_;
  int group_ = 0;
  int ticket_ = -1;
};

/// Rings whoever holds `ticket` at a gate, if there is one.
void ring_ticket(const Area& area, Stage& stage, std::uint64_t epoch, Gate gate, int group,
                 int ticket);
/// Rings the first sleepers of all groups, those of other cores first.
void ring_first(const Area& area, Stage& stage, std::uint64_t epoch, Gate gate);

}  // namespace meantime::coll
