// Hears the network while the ranks of its process sleep: a thread that waits for a descriptor to
// become readable, and rings. It looks at nothing else and moves nothing.
//   listen   once for each sleep, after the network was armed: the next event is told once. What
//            comes while nobody sleeps is found by who polls, and wakes this thread once at most
// Why no wake-up is lost. The sleeper has said that it sleeps (its word is `arming`, and it stands
// on its rank's list) before it arms, and arms before `listen`. UCX makes the descriptor readable
// for what comes after the arming, epoll tells what is readable already, and the ring finds the
// sleeper wherever between `arming` and its sleep it is.
#pragma once

#include <atomic>

namespace meantime::net {

class Listener {
 public:
  /// `ring` is called by the listener's thread. Not in a child that the process has forked.
  Listener(int descriptor, void (*ring)(int), int argument);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Rings with the next event. 0, or an errno: then nobody hears the network.
  int listen();

 private:
  int start();
  void run() const;

  const int descriptor_;
  void (*const ring_)(int);
  const int argument_;
  int events_ = -1;
};

}  // namespace meantime::net
