// Hears the network for ranks that compute, or that sleep and do not hear it themselves
// (sleep/ear.h): a thread that waits for a descriptor to become readable, and calls. It looks at
// nothing else.
//   listen   once for each sleep, after the network was armed: the next event is told once. What
//            comes while nobody sleeps is found by who polls, and wakes this thread once at most
// Why no wake-up is lost. The sleeper has said that it sleeps (its word is `arming`, and it stands
// on its rank's list) before it arms, and arms before `listen`. UCX makes the descriptor readable
// for what comes after the arming, epoll tells what is readable already, and the ring finds the
// sleeper wherever between `arming` and its sleep it is.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/lock.h"

namespace meantime::net {

enum class Urgency : std::uint8_t {
  as_others,
  leaves_cpus_to_others,  ///< it has an idle CPU at once, and of one in use its share
};

class Listener {
 public:
  /// `call` is called by the listener's thread, which counts itself among `threads`. Not in a child
  /// that the process has forked.
  Listener(int descriptor, void (*call)(int), int argument, Urgency urgency,
           std::atomic<std::uint32_t>& threads);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Before `listen`: also calls that, with `object`, whenever this descriptor is readable.
  void also_at(int descriptor, void (*call)(void*), void* object);

  /// Calls with the next event. 0, or an errno: then nobody hears the network.
  int listen();
  /// Before anything is listened to, for what `also_at` names.
  void start_thread();

 private:
  int start();
  void run() const;

  const int descriptor_;
  void (*const call_)(int);
  const int argument_;
  const Urgency urgency_;
  std::atomic<std::uint32_t>& threads_;
  Mutex lock_;
  int events_ = -1;
  int other_ = -1;
  void (*other_call_)(void*) = nullptr;
  void* other_object_ = nullptr;
};

}  // namespace meantime::net
