#include "coll/gate_wait.h"

#include <sched.h>

#include "coll/schedule/progress.h"
#include "core/comm/communicator.h"
#include "core/request/point_to_point.h"
#include "core/request/progress.h"
#include "node/segment.h"
#include "policy/policy.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "sleep/doorbell.h"

namespace meantime::coll {
namespace {

/// Which group of sleepers this core's belong to: neighbouring cores of the mask get different
/// ones.
int group_of_this_core() {
  const int worker = ranks::worker_number(self());
  const int core = worker >= 0 ? worker : sched_getcpu();
  return core < 0 ? 0 : core % core_groups;
}

}  // namespace

GateWait::GateWait(Communicator& comm, const State& state, std::uint64_t epoch, Gate gate)
    : comm_(comm),
      state_(state),
      area_(state.area),
      stage_(state.area.stage(epoch)),
      epoch_(epoch),
      gate_(gate) {}

void GateWait::wait() {
  if (!ready()) {
    state_.until(*this);
  }
  if (ticket_ >= 0) {
    // Whoever should have signalled us need not any more: we may sleep at the next gate by then.
    std::uint16_t mine = static_cast<std::uint16_t>(state_.rank);
    area_.sleeper(stage_, gate_, group_, ticket_)
        .compare_exchange_strong(mine, nobody, std::memory_order_relaxed);
    ring_ticket(area_, stage_, epoch_, gate_, group_, 2 * ticket_ + 1);
    ring_ticket(area_, stage_, epoch_, gate_, group_, 2 * ticket_ + 2);
  }
}

bool GateWait::progress() {
  return core::progress();
}

void GateWait::arm(node::Waiter& waiter) {
  wait::expect(waiter, 1);
  core::arm_background(waiter);
  area_.member(state_.rank).waiter.store(wait::sleep_of(waiter), std::memory_order_seq_cst);
  take_ticket();
}

void GateWait::disarm(node::Waiter& waiter) {
  core::disarm_background(waiter);
}

void GateWait::about_to_sleep() {
  core::let_go_before_sleep(self());
}

void GateWait::take_ticket() {
  if (ticket_ < 0) {
    group_ = group_of_this_core();
    std::atomic<std::uint64_t>& tickets = stage_.tickets[static_cast<int>(gate_)][group_];
    std::uint64_t seen = tickets.load(std::memory_order_relaxed);
    do {
      ticket_ = seen >> 16 == epoch_ ? static_cast<int>(seen & 0xffff) : 0;
    } while (!tickets.compare_exchange_weak(seen, epoch_ << 16 | (ticket_ + 1),
                                            std::memory_order_seq_cst));
  }
  area_.sleeper(stage_, gate_, group_, ticket_)
      .store(static_cast<std::uint16_t>(state_.rank), std::memory_order_seq_cst);
}

void GateWait::describe(wait::Situation& situation) const {
  situation.context = comm_.context;
  situation.name = comm_.name.empty() ? &comm_.origin : &comm_.name;
  situation.policy = comm_.waiting.get();
}

void ring_ticket(const Area& area, Stage& stage, std::uint64_t epoch, Gate gate, int group,
                 int ticket) {
  const std::uint64_t tickets =
      stage.tickets[static_cast<int>(gate)][group].load(std::memory_order_seq_cst);
  if (tickets >> 16 != epoch || static_cast<int>(tickets & 0xffff) <= ticket) {
    return;
  }
  const int rank = area.sleeper(stage, gate, group, ticket).load(std::memory_order_seq_cst);
  if (rank == nobody) {
    return;  // it has seen that the gate is open, and rings those behind it
  }
  const node::SleepLink sleep = area.member(rank).waiter.load(std::memory_order_seq_cst);
  if (sleep != 0) {
    wait::ring(sleep);
  }
}

void ring_first(const Area& area, Stage& stage, std::uint64_t epoch, Gate gate) {
  bool any = false;
  for (const auto& tickets : stage.tickets[static_cast<int>(gate)]) {
    any = any || tickets.load(std::memory_order_seq_cst) >> 16 == epoch;
  }
  if (!any) {
    return;
  }
  const int own = group_of_this_core();
  for (int distance = 1; distance <= core_groups; ++distance) {
    ring_ticket(area, stage, epoch, gate, (own + distance) % core_groups, 0);
  }
}

}  // namespace meantime::coll
