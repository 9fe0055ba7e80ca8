// A thread rank as its worker sees it, and the worker. For src/rank only.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "node/layout.h"
#include "rank/rank.h"
#include "rank/stack_switch.h"
#include "rank/worker.h"

namespace meantime::ranks {

class Worker;

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
  int index = 0;
  StackMark mark = nullptr;          ///< valid while nobody runs it
  std::uintptr_t control_block = 0;  ///< FS base
  Worker* worker = nullptr;
  std::atomic<State> state{State::init};

  const Plan* plan = nullptr;
  pthread_t own_thread{};
  StackMark parked = nullptr;  ///< the own thread's, while it runs the fiber
  FileContext files;
  FileContext own_files;           ///< of its own thread
  Signal ready;                    ///< own thread → host: the stack is there
  Signal called;                   ///< worker → own thread: run the fiber
  node::Waiter* ticket = nullptr;  ///< by which it comes back from elsewhere

  /// Changes the state; a fiber that is not in `from` is an error in this file's neighbours.
  void change(State from, State to);
};

/// Runnable fibers in order of arrival.
class RunQueue {
 public:
  void make_room(std::size_t fibers) { places_.resize(fibers + 1); }
  bool empty() const { return head_ == tail_; }
  void push(Fiber& fiber) {
    places_[tail_] = &fiber;
    tail_ = tail_ + 1 == places_.size() ? 0 : tail_ + 1;
  }
  Fiber& pop() {
    Fiber& fiber = *places_[head_];
    head_ = head_ + 1 == places_.size() ? 0 : head_ + 1;
    return fiber;
  }

 private:
  std::vector<Fiber*> places_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

class Worker {
 public:
  /// What becomes of a fiber that leaves, once its stack is left.
  enum class After : std::uint8_t { nothing, runnable, elsewhere };

  Worker(int number, node::WorkerPlace& place) : number_(number), place_(place) {}

  void make_room(std::size_t fibers) { queue_.make_room(fibers); }
  void add(Fiber& fiber);
  /// The worker's thread: runs all of its fibers to their end.
  void work();

  int number() const { return number_; }
  node::WorkerPlace& place() const { return place_; }
  bool has_runnable() {
    take_woken();
    return !queue_.empty();
  }

  // By the fiber that runs.
  void yield_from(Fiber& fiber);
  void leave(Fiber& fiber, State to, After after);
  void arrived(Fiber* here);
  FileContext& files() { return files_; }
  std::uint64_t& core_clock() { return core_clock_; }

 private:
  void take_woken();
  Fiber* next();
  void resume(Fiber& fiber, StackMark* from);
  void idle();

  const int number_;
  node::WorkerPlace& place_;
  RunQueue queue_;
  int living_ = 0;
  int elsewhere_ = 0;  ///< that have left it and are not back on its list yet

  // Of the switch that is under way: the one who left, for the one who arrives.
  Fiber* left_ = nullptr;
  FileContext files_;  ///< of the worker's thread
  After after_ = After::nothing;

  StackMark base_ = nullptr;  ///< the worker's own stack, while a fiber runs
  std::uintptr_t base_block_ = 0;

  std::uint64_t core_clock_ = 0;  ///< MPIX_Ptime's ticks (rank/clocks.h)
};

}  // namespace meantime::ranks
