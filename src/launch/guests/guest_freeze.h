// `--guest-freeze`: guests run only while ranks wait. So many are not stopped as ranks sleep, and
// no more than CPUs are left by those that do not. A CPU's rank has it from its guest at once
// anyway (SCHED_IDLE): this is for what they share besides, and for CPUs without a rank. The
// supervisor looks at the ranks now and then, which costs them nothing: what a wait of a few
// milliseconds leaves is missed or had.
#pragma once

#include <cstddef>

#include "base/timer.h"
#include "launch/guests/guests.h"
#include "launch/job.h"
#include "node/segment.h"

namespace meantime::launch {

class GuestFreeze {
 public:
  /// `segment`: the job's, once `begin` is called.
  GuestFreeze(const Job& job, Guests& guests, const node::Segment& segment)
      : job_(job), guests_(guests), segment_(segment) {}

  /// All ranks are in MPI, once; or they go on after a stop.
  void begin();
  /// The timer is over.
  void on_timer();
  /// The ranks are stopped, or through.
  void stop();
  [[nodiscard]] const Timer& timer() const { return timer_; }

 private:
  [[nodiscard]] std::size_t may_run() const;

  const Job& job_;
  Guests& guests_;
  Timer timer_;
  const node::Segment& segment_;
  bool running_ = false;
};

}  // namespace meantime::launch
