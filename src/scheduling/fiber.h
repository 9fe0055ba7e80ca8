// A thread rank as its worker sees it. For src/rank only.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/heuristics.h"
#include "node/layout.h"
#include "rank/clocks.h"
#include "rank/rank.h"
#include "scheduling/stack_switch.h"
#include "scheduling/worker.h"

namespace meantime::ranks {

class Worker;
struct Carrier;

/// A futex that one thread waits on until another one wakes it, once each time.
class Signal {
 public:
  void send();
  void wait();

 private:
  std::atomic<std::uint32_t> word_{0};
};

/// Where relative paths begin, and the mask for new files. Of a fiber: what it wants; of a kernel
/// thread: what it has.
struct FileContext {
  int folder = -1;  ///< descriptor; -1: the host's
  int mask = -1;    ///< -1: the host's

  bool operator==(const FileContext&) const = default;
};

struct alignas(node::cache_line) Fiber {
  Rank rank;
  // All that a switch needs is in one line.
  alignas(node::cache_line) StackMark mark = nullptr;  ///< valid while nobody runs it
  std::uintptr_t control_block = 0;                    ///< FS base
  Worker* worker = nullptr;    ///< changed by thieves, while it is on a list (balance.cpp)
  Carrier* carrier = nullptr;  ///< who runs it, or ran it last, unless it is offloaded
  FileContext* thread_files = &own_files;  ///< of the kernel thread that runs it
  int index = 0;
  std::atomic<State> state{State::init};
  std::atomic<bool> stays{false};          ///< it asked not to be moved
  Eagerness eagerness = Eagerness::looks;  ///< of its next wait
  Eagerness counted_eagerness =
      Eagerness::looks;            ///< by its worker, while it waits or is offloaded
  std::atomic<bool> ended{false};  ///< it is not among Host::living any more

  Worker* home = nullptr;  ///< on which it began
  HandOver hand_over;      ///< if it is offloaded because it held its worker up
  const Plan* plan = nullptr;
  pthread_t own_thread{};
  StackMark parked = nullptr;  ///< the own thread's, while it runs the fiber
  FileContext files;
  FileContext own_files;           ///< of its own thread
  Signal ready;                    ///< own thread → host: the stack is there
  Signal called;                   ///< worker → own thread: run the fiber
  node::Waiter* ticket = nullptr;  ///< by which it comes back
  bool naps = false;               ///< it is offloaded, asleep for some time
  bool sleeps_beside = false;      ///< on the carrier that it kept when its worker was handed over
  std::uint64_t left_ns = 0;       ///< when it went there, CLOCK_MONOTONIC
  std::uint64_t own_cpu_ns = 0;    ///< of its own thread, as far as it is charged

  /// Changes the state; a fiber that is not in `from` is an error in this file's neighbours.
  void change(State from, State to) {
    if (state.load(std::memory_order_relaxed) != from) [[unlikely]] {
      not_in(from);
    }
    state.store(to, std::memory_order_relaxed);
  }

  /// For the ledger, by who has the fiber: CPU time of a thread that ran it alone …
  void needed_while_offloaded(std::uint64_t cpu_ns);
  /// … and that it is back on a worker.
  void is_back();

 private:
  [[noreturn]] void not_in(State from) const;
};

/// Runnable fibers in order of arrival. Changed only by who holds the worker; whether it is empty,
/// and how long it is, others may ask, for a hint.
class RunQueue {
 public:
  void make_room(std::size_t fibers) { places_.resize(fibers + 1); }
  bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed);
  }
  std::size_t size() const {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    return tail >= head ? tail - head : tail + places_.size() - head;
  }
  void push(Fiber& fiber) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    places_[tail] = &fiber;
    tail_.store(after(tail), std::memory_order_relaxed);
  }
  Fiber& pop() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    head_.store(after(head), std::memory_order_relaxed);
    return *places_[head];
  }
  /// Of many fibers none finds much of its own in the core's first-level cache. So what the next
  /// one will touch is fetched while another runs: its stack, whose mark was read from a line that
  /// the same call fetched one switch before.
  void warm_up_the_next() const {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (head == tail || !uses(Heuristic::warm_up)) {
      return;
    }
    const Fiber& next = *places_[head];
    const auto* const stack = static_cast<const char*>(next.mark);
    for (std::size_t line = 0; line < warm_lines; ++line) {
      __builtin_prefetch(stack + line * node::cache_line, 1);
    }
    __builtin_prefetch(&next.rank, 1);
    if (const std::size_t one_more = after(head); one_more != tail) {
      __builtin_prefetch(&places_[one_more]->mark, 1);
    }
  }

  /// Takes out the first that `wanted` says yes to, or nullptr.
  template <typename Wanted>
  Fiber* take(Wanted wanted) {
    Fiber* found = nullptr;
    // Once round: what is not taken goes to the end again, in its order.
    for (std::size_t left = size(); left > 0; --left) {
      Fiber& fiber = pop();
      if (found == nullptr && wanted(fiber)) {
        found = &fiber;
      } else {
        push(fiber);
      }
    }
    return found;
  }

 private:
  /// From a rank's innermost frame up to the program's, in a barrier (docs/internals/rank.md).
  static constexpr std::size_t warm_lines = 7;

  std::size_t after(std::size_t place) const { return place + 1 == places_.size() ? 0 : place + 1; }

  std::vector<Fiber*> places_;
  std::atomic<std::size_t> head_{0};
  std::atomic<std::size_t> tail_{0};
};

}  // namespace meantime::ranks
