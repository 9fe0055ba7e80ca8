#include "scheduling/worker_times.h"

#include <unistd.h>

#include "ledger/accounts.h"
#include "ledger/kernel_account.h"

namespace meantime::ranks {

void WorkerTimes::picked_up(int thread, int number, std::uint64_t now_ns) {
  const LockGuard guard(lock_);
  // (Unsigned, and right even if it wraps: earlier carriers may have had less than this one.)
  cpu_before_ns_ = account_.cpu_ns.load(std::memory_order_relaxed) - ledger::cpu_ns_of(thread);
  ready_before_ns_.reset();
  thread_ = thread;
  ask_how_long_ready();
  if (account_.began_ns.load(std::memory_order_relaxed) == 0) {
    account_.number.store(static_cast<std::uint32_t>(number), std::memory_order_relaxed);
    account_.since_ns.store(now_ns, std::memory_order_relaxed);
    account_.began_ns.store(now_ns, std::memory_order_release);
  }
}

void WorkerTimes::ends(std::uint64_t now_ns) {
  put_down(ledger::cpu_ns_of(gettid()));
  settle(now_ns);
  account_.ended_ns.store(now_ns, std::memory_order_release);
}

void WorkerTimes::settle(std::uint64_t now_ns) {
  const auto doing = account_.doing.load(std::memory_order_relaxed);
  ledger::add(account_.spent_ns[doing], now_ns - account_.since_ns.load(std::memory_order_relaxed));
  account_.since_ns.store(now_ns, std::memory_order_relaxed);
}

void WorkerTimes::change_to(ledger::Doing doing, std::uint64_t now_ns) {
  const auto before = static_cast<ledger::Doing>(account_.doing.load(std::memory_order_relaxed));
  if (before == ledger::Doing::poll || before == ledger::Doing::yield) {
    polled(now_ns);
  } else {
    settle(now_ns);
  }
  account_.doing.store(static_cast<std::uint32_t>(doing), std::memory_order_relaxed);
}

void WorkerTimes::polled(std::uint64_t now_ns) {
  const std::uint64_t took = now_ns - account_.since_ns.load(std::memory_order_relaxed);
  const std::uint64_t own = yields_ * ledger::lone_yield_ns;
  if (took > own + ledger::gone_ns) [[unlikely]] {
    ledger::add(account_.held_up_ns, took - own);
  }
  const auto doing = yields_ != 0 ? ledger::Doing::yield : ledger::Doing::poll;
  account_.doing.store(static_cast<std::uint32_t>(doing), std::memory_order_relaxed);
  yields_ = 0;
  settle(now_ns);
}

void WorkerTimes::put_down(std::uint64_t cpu_ns) {
  const LockGuard guard(lock_);
  if (thread_ != 0) {
    note(cpu_ns);
  }
  thread_ = 0;
}

void WorkerTimes::refresh() {
  const LockGuard guard(lock_);
  if (thread_ != 0) {
    note(ledger::cpu_ns_of(thread_));
  }
}

void WorkerTimes::note(std::uint64_t cpu_ns) {
  account_.cpu_ns.store(cpu_before_ns_ + cpu_ns, std::memory_order_relaxed);
  ask_how_long_ready();
}

/// The account is a difference: if the kernel does not tell now (the program may have all
/// descriptors), the figure from before stays.
void WorkerTimes::ask_how_long_ready() {
  const std::optional<std::uint64_t> before = ledger::told(account_.preempted_ns);
  const std::optional<std::uint64_t> ready = ledger::ready_ns_of(thread_);
  if (!ready) {
    // Nobody has been asked before: the zero that the account began with is no figure.
    if (account_.began_ns.load(std::memory_order_relaxed) == 0) {
      account_.preempted_ns.store(ledger::untold_ns, std::memory_order_relaxed);
    }
    return;
  }
  if (!ready_before_ns_) {
    ready_before_ns_ = before.value_or(0) - *ready;
  }
  account_.preempted_ns.store(*ready_before_ns_ + *ready, std::memory_order_relaxed);
}

}  // namespace meantime::ranks
