// The bound on what a job's guests cost it (guest/bound.h), as the supervisor keeps it: guests that
// are programs are frozen, a function rests.
#pragma once

#include "base/timer.h"
#include "guest/bound.h"
#include "launch/guests/guests.h"
#include "launch/job.h"
#include "node/segment.h"

namespace meantime::launch {

class GuestTrials {
 public:
  /// `segment`: the job's, once `begin` is called.
  GuestTrials(const Job& job, Guests& guests, const node::Segment& segment);

  /// All ranks are in MPI, once; or they go on after a stop.
  void begin();
  /// The timer is over.
  void on_timer();
  /// The ranks are stopped, or through.
  void stop();
  [[nodiscard]] const Timer& timer() const { return timer_; }
  [[nodiscard]] const guest::Bound& bound() const { return bound_; }

 private:
  void next();

  const Job& job_;
  Guests& guests_;
  guest::Bound bound_;
  Timer timer_;
  const node::Segment& segment_;
  bool running_ = false;
};

}  // namespace meantime::launch
