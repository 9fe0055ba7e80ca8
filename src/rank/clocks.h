// The clocks of MPI virtualization (PAPERS.md V3, V4; the paper's Listings 2 and 3).
//   rank's clock   MPIX_Rtime: ticks while the rank runs its program, not while it waits in MPI or
//                  for its turn
//   core's clock   MPIX_Ptime: one a worker, shared by its ranks; ticks while one of them runs
//                  inside the section that MPIX_Start/Stop_processor_timer mark
//   stopped        the rank waits in MPI, or for its turn (Stopped, below). Where a rank can leave
//                  its worker there is one of these, and the worker itself knows nothing of clocks
//   away           it is offloaded (scheduling/worker.h): its own clock ticks, its core's does not
// Kept in thread-local data: a thread rank has its own (docs/internals/rank.md), and it moves with
// the rank from worker to worker. Thread ranks are timed by the processor's ticks; any other thread
// by the kernel's clocks (rank/running_time.h), which leave every preemption out, too. Then its
// "core" is itself. A rank that held its worker up and was left alone on its kernel thread
// (monitor.h) shares the CPU with that worker's others from then on: until it is back all of them
// go by CPU time.
//
// What the kernel gives to another program is no rank's time, and no user-level scheduler sees it
// go. But a rank that lost its core finds that long has passed since its clock began: then, and
// only then, the CPU clock of the carrier is asked, too.
//   mark      what both clocks of a carrier said at one moment
//   lost      what has passed since its mark by the ticks and not by the CPU clock. It is taken off
//             a long interval, at whose end a new mark is made
// A mark is no older than a millisecond when an interval begins, so what others had of that
// millisecond in shorter pieces is all that may be taken off wrongly. A slice that is shorter than
// the shortest long interval (an eighth of a millisecond) may stay in.
#pragma once

#include <atomic>
#include <cstdint>

#include "rank/rank.h"
#include "rank/running_time.h"

namespace meantime::ranks {

struct Counters;
struct Fiber;

/// A time in parts that were measured by different clocks.
struct Span {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;  ///< by the kernel's clocks

  double seconds() const;
};

/// A worker's. Its ranks add to it; more than one at a time only after a worker was handed over.
struct CoreClock {
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint64_t> ns{0};
};

/// Of a carrier.
struct CpuMark {
  std::uint64_t ticks = 0;  ///< 0: none. Read before …
  std::uint64_t cpu_ns = 0;
};

/// When a fiber was left alone on its kernel thread. Written before its state says `offloaded`.
struct HandOver {
  bool was = false;
  bool computes = false;  ///< it did not sleep
  std::uint64_t ticks = 0;
  std::uint64_t cpu_ns = 0;  ///< of that thread
};

struct Clocks {
  bool on = false;      ///< this thread has asked for a clock: until then nothing below is touched
  bool by_cpu = false;  ///< of a fiber: what `since` is a reading of
  bool ticks_for_rank = false;  ///< MPIX_Rtime was called
  bool in_section = false;
  bool away = false;
  std::uint32_t stopped = 0;  ///< depth: a user's function that a wait calls may call MPI again
  // The paper's R and T, and the C of a thread that has no worker.
  Span ran;
  std::uint64_t since = 0;  ///< of a fiber
  RunningTime running;      ///< of any other thread
  Span core;
  Fiber* fiber = nullptr;
  Counters* counters = nullptr;  ///< counters.h; until one is started there are none

  void stop();
  void go();
  void switch_on();
  /// A new interval, by the clock that is right for it.
  void begin();
  /// What has passed since `begin` goes where it belongs.
  void settle();
  void settle_if_going();
  Span passed();
  void add_to_core(const Span& span);
};

/// The calling thread's.
extern constinit thread_local Clocks own_clocks;

/// The calling rank's clocks stand still during this object's life, which may begin on one worker
/// and end on another.
class Stopped {
 public:
  // (The rank's flag lies where every call looks anyway.)
  Stopped() : stopped_(self().uses_clocks.load(std::memory_order_relaxed) && own_clocks.on) {
    if (stopped_) [[unlikely]] {
      own_clocks.stop();
    }
  }
  ~Stopped() {
    if (stopped_) [[unlikely]] {
      own_clocks.go();
    }
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  const bool stopped_;
};

/// Around leaving the worker for the rank's own thread: before `leave`, and first thing back on a
/// worker.
void clocks_go_away();
void clocks_are_back();

/// By who hands a worker over: what the fiber's clocks have to know, of the kernel thread `thread`.
HandOver hand_over_now(int thread, bool computes);

double rank_seconds();
/// False if the rank is in a section already.
bool start_processor_timer();
/// False if it is in none.
bool stop_processor_timer();
double processor_seconds();

}  // namespace meantime::ranks
