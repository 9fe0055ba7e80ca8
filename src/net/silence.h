// Notices connections of UCX's of which nothing is heard though something is due: by TCP the kernel
// goes on trying for a quarter of an hour, and UCX waits for it.
//   silent   what was sent, or a question whether there is room for it, has not been answered by
//            the other kernel, which answers for a process that computes, or is stopped, too. (So
//            it is not what TCP_USER_TIMEOUT bounds: that ends a connection whose receiver does not
//            read.)
//   look     at all of UCX's sockets; one that is silent for some looks is shut, and UCX finds that
//            as any loss. One is due a while after somebody has begun to wait, and then as long as
//            not everything is answered: who sleeps for long is woken once for this
// UCX's sockets are those in its epoll sets, and these what it has opened at first.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <vector>

#include "base/timer.h"

namespace meantime::net {

class Silence {
 public:
  /// Of these descriptors the epoll sets are UCX's.
  void watch_sets_among(const std::set<int>& descriptors);
  /// A connection that is silent for this long is shut, half of it after it was seen to be so.
  void bound(double seconds);

  /// Somebody begins to wait, so there will be a look.
  void wait_begins();
  /// There will be a look. Any thread, any time: what it has sent under the network's lock a look
  /// under that lock has seen, or it came before, and this is false.
  [[nodiscard]] bool will_look() const { return will_look_.load(std::memory_order_relaxed); }
  /// Readable when it is time to look.
  [[nodiscard]] int timer() const { return timer_.descriptor(); }
  /// Also by whoever is not called by the timer.
  void look_if_due();
  /// It is not possible now. Any thread.
  void look_later() { timer_.set(between_looks()); }
  /// Of a connection that is being made. (Who listens for them may have to answer many: what is
  /// lost then the kernel sends again after 1, 3 and 7 s.)
  [[nodiscard]] bool is_too_long(double seconds) const { return seconds > bound_ * 3 / 4; }

 private:
  [[nodiscard]] double between_looks() const;
  bool is_all_answered(int socket, double now);
  void look(double now);

  std::vector<int> sets_;
  double bound_ = 0;                    ///< 0: not yet
  double due_ = 0;                      ///< 0: nothing is
  std::atomic<bool> will_look_{false};  ///< due_ is not 0
  Timer timer_;
  std::map<int, double> silent_since_;  ///< by descriptor
};

}  // namespace meantime::net
