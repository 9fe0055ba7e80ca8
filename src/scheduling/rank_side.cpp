// What the code of a rank asks of its worker: worker.h's functions.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "node/segment.h"
#include "rank/clocks.h"
#include "rank/rank_of_thread.h"
#include "scheduling/monitor.h"
#include "scheduling/scheduler.h"
#include "scheduling/switch_order.h"
#include "sleep/doorbell.h"

namespace meantime::ranks {
namespace {

Fiber* self_fiber() {
  return self().fiber;
}

/// The worker has been handed to another carrier while this fiber held it up. It queues there
/// again: its carrier does that for it, once it has left its stack, and is spare then
/// (Worker::work).
void come_back_to_worker(Fiber& fiber) {
  const int error = errno;
  Carrier& carrier = *fiber.carrier;
  carrier.returning = &fiber;
  fiber.ticket->worker = fiber.worker->link();
  before_switch(&carrier);
  set_control_block(carrier.control_block, host().fs_base_by_instruction);
  meantime_switch_stack(&fiber.mark, carrier.base);
  after_switch(&fiber);
  fiber.is_back();  // while its worker is held: it may be handed over again
  fiber.worker->arrived(&fiber);
  errno = error;
}

/// The calling fiber's worker, held.
Worker& hold(Fiber& fiber) {
  while (!fiber.worker->enter(*fiber.carrier)) {
    come_back_to_worker(fiber);
  }
  return *fiber.worker;
}

}  // namespace

bool rests_here(const Rank& rank) {
  const Fiber* const self = self_fiber();
  return self != nullptr && rank.fiber != nullptr && !host().plan->steal &&
         rank.fiber->worker == self->worker && !self->worker->shares_its_cpu() &&
         self->state.load(std::memory_order_relaxed) == State::running &&
         rank.fiber->state.load(std::memory_order_relaxed) == State::suspended;
}

bool others_runnable() {
  Fiber* fiber = self_fiber();
  return fiber != nullptr && fiber->worker->has_runnable();
}

int runnable() {
  Fiber* fiber = self_fiber();
  return fiber != nullptr ? 1 + static_cast<int>(fiber->worker->runnable()) : 1;
}

namespace {

[[gnu::noinline]] bool yield_with_clocks(Fiber& fiber) {
  const Stopped stopped;
  return hold(fiber).yield(fiber);
}

}  // namespace

bool yield() {
  Fiber* fiber = self_fiber();
  if (fiber == nullptr) {
    return false;
  }
  if (!fiber->worker->has_runnable()) {
    if (fiber->state.load(std::memory_order_relaxed) == State::running) {
      fiber->worker->note_lone_yield();  // and not of a worker that is another carrier's by now
    }
    return false;
  }
  if (fiber->rank.uses_clocks.load(std::memory_order_relaxed)) [[unlikely]] {
    return yield_with_clocks(*fiber);
  }
  return hold(*fiber).yield(*fiber);
}

void hold_worker() {
  hold(*self_fiber());
}

void let_go_of_worker() {
  Fiber& fiber = *self_fiber();
  fiber.worker->leave_hold(*fiber.carrier);
}

void suspend() {
  Fiber& fiber = *self_fiber();
  fiber.worker->leave(fiber, State::suspended, Worker::After::nothing);
}

void suspends_with(Eagerness eagerness) {
  if (Fiber* fiber = self_fiber()) {
    fiber->eagerness = eagerness;
  }
}

const wait::Lateness& lateness() {
  return self_fiber()->worker->lateness();
}

void suspend_until(node::Waiter& waiter, std::uint64_t at_ns) {
  Fiber& fiber = *self_fiber();
  fiber.worker->suspend_until(fiber, waiter, at_ns);
}

namespace {

void one_less(Fiber& fiber) {
  if (!fiber.ended.exchange(true) && host().living.fetch_sub(1, std::memory_order_seq_cst) == 1) {
    for (const std::unique_ptr<Worker>& each : host().workers) {
      wait::ring(each->place().bell);
    }
    tell_monitor_of_the_end();
  }
}

}  // namespace

void belong_to(int index) {
  meantime::detail::rank_of_thread = &host().fibers[static_cast<std::size_t>(index)]->rank;
}

void abandon(int index) {
  host().abandoned.store(true);
  one_less(*host().fibers[static_cast<std::size_t>(index)]);
}

void finish() {
  Fiber& fiber = *self_fiber();
  Worker& worker = hold(fiber);
  one_less(fiber);
  worker.leave(fiber, State::finalized, Worker::After::nothing);
  std::abort();
}

bool leave_worker(bool for_a_time) {
  Fiber* fiber = self_fiber();
  if (fiber == nullptr || fiber->sleeps_beside) {
    return false;
  }
  // acquire: hand_over is written before the state
  if (fiber->state.load(std::memory_order_acquire) != State::running && !fiber->hand_over.was) {
    return false;
  }
  clocks_go_away();
  if (!fiber->worker->enter(*fiber->carrier)) {
    // It held its worker up, which another carrier has now: it sleeps where it is. (A turn on the
    // worker first might make a nap of a millisecond one of many.)
    fiber->sleeps_beside = true;
    fiber->worker->one_less_computes_beside(*fiber);
    fiber->carrier->held_by.store(nullptr, std::memory_order_relaxed);  // nobody's riddle
    return true;
  }
  fiber->left_ns = now_ns();
  fiber->naps = for_a_time;
  fiber->worker->leave(*fiber, State::offloaded, Worker::After::offloaded);
  return true;
}

/// The own thread, once this stack is left, gives the fiber to its worker (own_thread).
void come_back() {
  Fiber& fiber = *self_fiber();
  const int error = errno;
  if (std::exchange(fiber.sleeps_beside, false)) {
    const Stopped meanwhile;
    clocks_are_back();
    fiber.carrier->held_by.store(&fiber, std::memory_order_relaxed);
    errno = error;
    return;
  }
  {
    const Stopped until_its_turn;
    const std::uint64_t cpu = thread_cpu_ns();
    fiber.needed_while_offloaded(cpu - std::exchange(fiber.own_cpu_ns, cpu));
    fiber.ticket->worker = worker_of(fiber.rank);
    meantime_switch_stack(&fiber.mark, fiber.parked);
    after_switch(&fiber);
    fiber.is_back();  // as above
    fiber.worker->arrived(&fiber);
    clocks_are_back();
  }
  errno = error;
}

void stay(bool stays) {
  if (Fiber* fiber = self_fiber()) {
    fiber->stays.store(stays, std::memory_order_relaxed);
  }
}

node::Link worker_of(const Rank& rank) {
  return rank.fiber == nullptr ? 0 : rank.fiber->worker->link();
}

int worker_number(const Rank& rank) {
  return rank.fiber == nullptr ? -1 : host().plan->first_worker + rank.fiber->worker->number();
}

node::Link home_of(const Rank& rank) {
  return rank.fiber == nullptr ? 0 : rank.fiber->home->link();
}

int home_number(const Rank& rank) {
  return rank.fiber == nullptr ? -1 : host().plan->first_worker + rank.fiber->home->number();
}

int worker_count() {
  return static_cast<int>(host().workers.size());
}

int worker_count_of_job() {
  return static_cast<int>(node::segment().header().runners);
}

// Whoever asks has pushed something on the worker's list before (sequentially consistent, like this
// load and the store in hand_over): if it reads that it still runs there, the push comes before the
// worker is handed over, and so before the new carrier's look at the list.
bool runs_on(const node::WorkerPlace& place) {
  const Fiber* fiber = self_fiber();
  return fiber != nullptr && &fiber->worker->place() == &place &&
         fiber->state.load(std::memory_order_seq_cst) == State::running;
}

namespace {

int use_files(Fiber& fiber, const FileContext& wanted) {
  host().any_file_contexts.store(true, std::memory_order_relaxed);
  const int error = change_files(*fiber.thread_files, wanted);
  if (error == 0) {
    fiber.files = wanted;
  }
  return error;
}

}  // namespace

/// (System calls, because libc's names lead back here: src/host/interpose/process.cpp.)
int change_files(FileContext& now, const FileContext& wanted) {
  if (now == wanted) [[likely]] {
    return 0;
  }
  if (now.folder != wanted.folder) {
    const int folder = wanted.folder >= 0 ? wanted.folder : host().files.folder;
    if (syscall(SYS_fchdir, folder) != 0) {
      return errno;
    }
    now.folder = wanted.folder;
  }
  if (now.mask != wanted.mask) {
    syscall(SYS_umask, wanted.mask >= 0 ? wanted.mask : host().files.mask);
    now.mask = wanted.mask;
  }
  return 0;
}

int set_folder(int descriptor) {
  Fiber& fiber = *self_fiber();
  return use_files(fiber, {descriptor, fiber.files.mask});
}

int set_file_mask(int mask) {
  Fiber& fiber = *self_fiber();
  return use_files(fiber, {fiber.files.folder, mask});
}

int control() {
  return host().plan->control;
}

int index_of_self() {
  const Fiber* fiber = self_fiber();
  return fiber == nullptr ? -1 : fiber->index;
}

}  // namespace meantime::ranks
