#include "scheduling/worker.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/pause.h"
#include "ledger/layout.h"
#include "node/segment.h"
#include "policy/policy.h"
#include "scheduling/asymmetric_fence.h"
#include "scheduling/fiber.h"
#include "scheduling/scheduler.h"
#include "scheduling/switch_order.h"
#include "sleep/doorbell.h"

namespace meantime::ranks {

void Signal::send() {
  word_.store(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, 1, nullptr,
          nullptr, 0);
}

void Signal::wait() {
  while (word_.exchange(0, std::memory_order_acquire) == 0) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, 0, nullptr,
            nullptr, 0);
  }
}

void Fiber::not_in(State from) const {
  std::fprintf(stderr, "Meantime: rank %d: scheduler state %d where %d should be\n",
               rank.world_rank, static_cast<int>(state.load()), static_cast<int>(from));
  std::abort();
}

void Fiber::needed_while_offloaded(std::uint64_t cpu_ns) {
  if (rank.area != nullptr) {
    ledger::add(rank.area->account.offloaded_cpu_ns, cpu_ns);
  }
}

void Fiber::is_back() {
  if (rank.area != nullptr) {
    ledger::add(rank.area->account.offloaded_ns, now_ns() - left_ns);
  }
}

namespace {

/// Of a rank that is about to be offloaded. Nobody can be asked for it meanwhile. It does not wait
/// in MPI, and may need this CPU: it is not polled for without end, whatever its policy.
Eagerness eagerness_of(const Rank& rank) {
  const bool eager = rank.policy.learns_patience() || !rank.policy.sleeps();
  return eager && rank.advisor == nullptr ? Eagerness::learns : Eagerness::looks;
}

}  // namespace

node::Link Worker::link() const {
  return node::segment().link(&place_);
}

void Worker::add(Fiber& fiber) {
  fiber.worker = this;
  fiber.home = this;
  fiber.change(State::init, State::suspended);
  queue_.push(fiber);
  count_living(fiber, 1);
}

// --- holding

/// `inside` is set: somebody has the worker, or it is another carrier's.
bool Worker::enter_slowly(Carrier& carrier) {
  constexpr int polls = 100;
  for (int turn = 0;;) {
    if (taken_.load(std::memory_order_acquire) == 0) {
      if (carrier_.load(std::memory_order_relaxed) == &carrier) {
        return true;
      }
      carrier.inside.store(0, std::memory_order_relaxed);
      return false;
    }
    carrier.inside.store(0, std::memory_order_release);
    while (taken_.load(std::memory_order_relaxed) != 0) {
      if (++turn > polls) {
        wait::give_core_to_kernel();  // who took it may have lost the CPU
      } else {
        wait::pause();
      }
    }
    carrier.inside.store(1, std::memory_order_relaxed);
    AsymmetricFence::light();
  }
}

bool Worker::try_take() {
  if (taken_.load(std::memory_order_relaxed) != 0 ||
      taken_.exchange(1, std::memory_order_acquire) != 0) {
    return false;
  }
  AsymmetricFence::heavy();
  if (carrier().inside.load(std::memory_order_acquire) != 0) {
    give_back();
    return false;
  }
  return true;
}

// --- the carrier's side

/// Those that were signalled, in the order in which they were.
void Worker::take_woken() {
  node::Segment& segment = node::segment();
  node::Link newest = place_.woken.take_all();
  node::Link oldest = 0;
  while (newest != 0) {
    auto* waiter = segment.at<node::Waiter>(newest);
    const node::Link older = waiter->next_woken.load(std::memory_order_relaxed);
    waiter->next_woken.store(oldest, std::memory_order_relaxed);
    oldest = newest;
    newest = older;
  }
  while (oldest != 0) {
    auto* waiter = segment.at<node::Waiter>(oldest);
    oldest = waiter->next_woken.load(std::memory_order_relaxed);
    Fiber& fiber = host().fiber_of(static_cast<int>(waiter->owner));
    if (!timers_.empty()) [[unlikely]] {
      timers_.remove(*waiter);
    }
    if (fiber.worker == this) [[likely]] {
      count_out(fiber);
    }
    if (fiber.state.load(std::memory_order_relaxed) == State::offloaded) {
      fiber.change(State::offloaded, State::suspended);
      --offloaded_;
      napping_ -= std::exchange(fiber.naps, false) ? 1 : 0;
      if (fiber.hand_over.was) {
        fiber.hand_over.was = false;
        handed_over_.fetch_sub(1, std::memory_order_relaxed);
        one_less_computes_beside(fiber);
      }
    }
    if (fiber.worker != this) {
      adopt(fiber);
    } else {
      queue(fiber);
    }
  }
}

// A timer is set and taken out by who holds the worker. Whether its rank was signalled or its time
// came is decided by one compare-and-swap on the waiter: from `on_futex` to `signalled` by the
// ringer, who then puts it on the list, or back to `arming` by us, who queue it. So it is queued
// once. If the ringer was first, the timer is gone before the rank can set another one: it is taken
// out here, or when the rank is taken from the list (both on this worker: it was suspended here).
void Worker::take_due() {
  const std::uint64_t now = now_ns();
  while (node::Waiter* waiter = timers_.take_due(now)) {
    if (wait::time_is_over(*waiter)) {
      Fiber& fiber = host().fiber_of(static_cast<int>(waiter->owner));
      count_out(fiber);
      queue(fiber);
    }
  }
}

void Worker::count_living(const Fiber& fiber, int more) {
  living_.store(living() + more, std::memory_order_relaxed);
  if (fiber.home != this) {
    strays_.store(strays_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
}

/// One of ours can run. (It may be the one that is leaving just now: that one has not left its
/// stack and cannot go anywhere.)
void Worker::queue(Fiber& fiber) {
  if (sends_on_.load(std::memory_order_relaxed) && &fiber != running_) [[unlikely]] {
    send_on(fiber);
  } else {
    queue_.push(fiber);
  }
}

/// To another worker's list, by the ticket: a stray to its home, or, for a test, any to the next.
/// Until that one finds it there it belongs to nobody; but it is up, or will be signalled, and
/// counts the fiber when it sleeps again.
void Worker::send_on(Fiber& fiber) {
  const std::vector<std::unique_ptr<Worker>>& workers = host().workers;
  Worker* to = this;
  if (host().plan->always_move) {
    to = workers[(static_cast<std::size_t>(number_) + 1) % workers.size()].get();
  } else if (fiber.home != this && fiber.home->is_brisk()) {
    to = fiber.home;
  }
  if (to == this || fiber.stays.load(std::memory_order_relaxed)) {
    queue_.push(fiber);
    return;
  }
  count_living(fiber, -1);
  fiber.ticket->worker = to->link();
  wait::make_runnable(*fiber.ticket);
}

inline Fiber* Worker::next() {
  if (!place_.woken.empty()) [[unlikely]] {
    take_woken();
  }
  if (!timers_.empty()) [[unlikely]] {
    take_due();
  }
  return queue_.empty() ? nullptr : &queue_.pop();
}

/// From the stack whose mark goes to `*from` to that of a fiber. Returns when somebody comes back.
inline void Worker::resume(Fiber& fiber, StackMark* from) {
  Carrier& here = carrier();
  fiber.change(State::suspended, State::running);
  fiber.carrier = &here;
  fiber.thread_files = &here.files;
  running_ = &fiber;
  switches_.store(switches_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const StackMark to = fiber.mark;
  queue_.warm_up_the_next();
  before_switch(&fiber);
  set_control_block(fiber.control_block, host().fs_base_by_instruction);
  meantime_switch_stack(from, to);
}

/// The other stack is left now, so whoever takes its fiber finds the mark; and so is the worker.
void Worker::arrived(Fiber* here) {
  Carrier& carrier = this->carrier();
  if (here != nullptr && host().any_file_contexts.load(std::memory_order_relaxed)) [[unlikely]] {
    change_files(carrier.files, here->files);
  }
  Fiber* call = nullptr;
  if (after_ == After::runnable) {
    queue(*left_);
  } else if (after_ == After::offloaded) {
    call = left_;
  }
  after_ = After::nothing;
  leave_hold(carrier);
  if (call != nullptr) {
    call->called.send();
  }
}

bool Worker::yield(Fiber& fiber) {
  Fiber* const other = next();
  if (other == nullptr) [[unlikely]] {
    leave_hold(*fiber.carrier);
    return false;
  }
  fiber.change(State::running, State::suspended);
  left_ = &fiber;
  after_ = After::runnable;
  resume(*other, &fiber.mark);
  after_switch(&fiber);
  fiber.worker->arrived(&fiber);
  return true;
}

void Worker::leave(Fiber& fiber, State to, After after) {
  fiber.change(State::running, to);
  if (to == State::finalized) [[unlikely]] {
    count_living(fiber, -1);
  }
  offloaded_ += to == State::offloaded ? 1 : 0;
  napping_ += to == State::offloaded && fiber.naps ? 1 : 0;
  if (to == State::suspended) {
    count_in(fiber, fiber.eagerness);
  } else if (to == State::offloaded) {
    count_in(fiber, eagerness_of(fiber.rank));
  }
  Fiber* const other = next();
  if (other == &fiber) {
    // Signalled between its last look and here: it is on the list already, and has not left.
    fiber.change(to, State::running);
    leave_hold(carrier());
    return;
  }
  left_ = &fiber;
  after_ = after;
  if (other != nullptr) {
    resume(*other, &fiber.mark);
  } else {
    Carrier& here = carrier();
    running_ = nullptr;
    before_switch(&here);
    set_control_block(here.control_block, host().fs_base_by_instruction);
    meantime_switch_stack(&fiber.mark, here.base);
  }
  after_switch(&fiber);
  if (to != State::offloaded) {
    fiber.worker->arrived(&fiber);
    return;
  }
  fiber.thread_files = &fiber.own_files;
  if (host().any_file_contexts.load(std::memory_order_relaxed)) [[unlikely]] {
    change_files(fiber.own_files, fiber.files);
  }
}

void Worker::suspend_until(Fiber& fiber, node::Waiter& waiter, std::uint64_t at_ns) {
  timers_.set(at_ns, waiter);
  leave(fiber, State::suspended, After::nothing);
}

void Worker::work(Carrier& carrier) {
  carrier.mark = {};
  times_.picked_up(carrier.thread_id.load(std::memory_order_relaxed),
                   host().plan->first_worker + number_, now_ns());
  int napped = 0;  // in the idle time before, in which the worker looked for so long
  std::uint64_t looked_ns = 0;
  while (host().living.load(std::memory_order_acquire) > 0) {
    // Nobody hands over a worker that runs nothing.
    enter(carrier);
    Fiber* const fiber = next();
    if (napping_ < napped) {
      returns_.pay(looked_ns);
    }
    napped = 0;
    if (fiber == nullptr) {
      const bool quiet = offloaded_ == 0;
      napped = napping_;
      const Eagerness eagerness = this->eagerness();
      leave_hold(carrier);
      looked_ns = idle(carrier, eagerness, napped > 0, quiet);
      continue;
    }
    resume(*fiber, &carrier.base);
    after_switch(&carrier);
    if (Fiber* back = std::exchange(carrier.returning, nullptr)) {
      // This worker has been another's for a while. The fiber goes to its list, like any that comes
      // back, now that its stack is left. What this thread did meanwhile it did for
      // that fiber alone.
      back->needed_while_offloaded(thread_cpu_ns() - back->hand_over.cpu_ns);
      carrier.held_by.store(nullptr, std::memory_order_relaxed);
      wait::make_runnable(*back->ticket);
      return;
    }
    arrived(nullptr);
  }
  times_.ends(now_ns());
}

// --- the outsiders' side

Fiber* Worker::give_away() {
  if (asleep_.load(std::memory_order_relaxed)) {
    return nullptr;  // its ranks have been counted
  }
  if (!place_.woken.empty()) {
    take_woken();
  }
  Fiber* const fiber =
      queue_.take([](const Fiber& one) { return !one.stays.load(std::memory_order_relaxed); });
  if (fiber != nullptr) {
    count_living(*fiber, -1);
  }
  return fiber;
}

void Worker::adopt(Fiber& fiber) {
  fiber.worker = this;
  node::segment().area(fiber.rank.world_rank).worker.store(link(), std::memory_order_release);
  count_living(fiber, 1);
  queue_.push(fiber);
}

void Worker::one_less_computes_beside(Fiber& fiber) {
  if (std::exchange(fiber.hand_over.computes, false)) {
    computing_beside_.fetch_sub(1, std::memory_order_relaxed);
  }
}

Fiber* Worker::hand_over(Carrier& spare, bool computes) {
  if (running_ == nullptr || running_->state.load(std::memory_order_relaxed) != State::running) {
    return nullptr;
  }
  Fiber* const fiber = running_;
  running_->hand_over =
      hand_over_now(carrier().thread_id.load(std::memory_order_relaxed), computes);
  running_->left_ns = now_ns();
  handed_over_.fetch_add(1, std::memory_order_relaxed);
  computing_beside_.fetch_add(computes ? 1 : 0, std::memory_order_relaxed);
  // Before anybody else's look at the list: see runs_on.
  running_->state.store(State::offloaded, std::memory_order_seq_cst);
  carrier().held_by.store(running_, std::memory_order_relaxed);
  count_in(*fiber, Eagerness::looks);  // it has a core, perhaps this worker's
  running_ = nullptr;
  ++offloaded_;
  set_carrier(spare);
  return fiber;
}

}  // namespace meantime::ranks
