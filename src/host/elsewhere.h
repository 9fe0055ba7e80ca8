// A scope in which a rank may sleep in the kernel.
#pragma once

#include "host/rank_state.h"
#include "rank/host.h"

namespace meantime::host {

/// The rank is elsewhere in this scope, if it is a rank: its own thread runs it, and its worker the
/// others (src/rank/worker.h).
class Elsewhere {
 public:
  explicit Elsewhere(bool sleeps = true)
      : left_(sleeps && mine() != nullptr && meantime_host_leave_worker() != 0) {}
  ~Elsewhere() {
    if (left_) {
      meantime_host_come_back();
    }
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  const bool left_;
};

}  // namespace meantime::host
