// A scope in which a rank may sleep in the kernel.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/process/rank_state.h"
#include "protocol/host_interface.h"

namespace meantime::host {

/// The rank is offloaded in this scope, if it is a rank: its own thread runs it, or one that it
/// kept when it held its worker up, and its worker the others (src/scheduling/worker.h).
class Offloaded {
 public:
  explicit Offloaded(bool sleeps = true, bool for_a_time = false)
      : left_(sleeps && mine() != nullptr && meantime_host_leave_worker(for_a_time ? 1 : 0) != 0) {}
  ~Offloaded() {
    if (left_) {
      meantime_host_come_back();
      if (mine()->ended.load(std::memory_order_relaxed)) {
        meantime_host_finish();  // another thread has ended the rank meanwhile
      }
    }
  }
  Offloaded(const Offloaded&) = delete;
  Offloaded& operator=(const Offloaded&) = delete;

 private:
  const bool left_;
};

/// The same in a call that sleeps for some time, and not until anything happens.
class Nap : public Offloaded {
 public:
  Nap() : Offloaded(true, true) {}
};

/// True if the calling rank would sleep in a call that waits for this on a descriptor of the host.
inline bool would_sleep(int place, short events) {
  if (mine() == nullptr) {
    return false;
  }
  pollfd look{place, events, 0};
  return syscall(SYS_poll, &look, 1, 0) == 0 &&
         (syscall(SYS_fcntl, place, F_GETFL) & O_NONBLOCK) == 0;
}

}  // namespace meantime::host
