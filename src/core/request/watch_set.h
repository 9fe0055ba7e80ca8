// What a thread of the program tests for, test after test (policy/test_loop.h): requests, and
// messages that it probes for. A test that lasts is armed for all of them.
//   watched     a request is watched by one thread at most, the last that tested for it
//   slept for   a thread waits for the request, and sleeps
// Why a test that lasts takes no wake-up from another thread. The completion of a request rings one
// sleep only, that which armed it last, and a test may last for requests that its call is not
// about; another thread may wait for such a one, or free it, meanwhile. So
//   - who falls asleep for a request first takes it from the thread that watches it: if that one
//     naps, its arming is taken back there and then, and it does not touch the request any more;
//   - who tests for a request that is slept for does not watch it;
//   - a request that goes is not watched any more.
// All with the rank's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/request/arming.h"
#include "core/request/request.h"
#include "policy/test_loop.h"
#include "wait/wait.h"

namespace meantime::core {

/// As MPI_Iprobe names it.
struct WatchedMessage {
  std::uint32_t context = 0;
  std::int32_t source = 0;
  std::int32_t tag = 0;
  bool keeps_awake = false;  ///< says its communicator

  bool is_there() const;
};

class WatchSet final : public wait::WatchedThings {
 public:
  ~WatchSet() override { forget_all(); }

  std::size_t size() const override { return requests_.size() + messages_.size(); }
  void forget_all() override;
  bool forget_what_is_there() override;
  bool keeps_awake() const override;

  /// True if nobody has watched it yet.
  bool watch(Request& request);
  bool watch(const WatchedMessage& message);
  /// By who falls asleep for it, or watches it too.
  static void forget(Request& request) {
    if (request.watched_by != nullptr) [[unlikely]] {
      request.watched_by->disarm_and_remove(request);
    }
  }
  /// It ends, so it is not armed.
  static void forget_ended(Request& request) {
    if (request.watched_by != nullptr) [[unlikely]] {
      request.watched_by->remove(request);
    }
  }

  // --- For the sleep
  bool any_there();
  void arm(Arming& arming, node::Waiter& waiter);
  void disarm(node::Waiter& waiter);

 private:
  void disarm_and_remove(Request& request);
  void remove(Request& request);

  /// Who tests for more, each another one, is always at something new, so it does not nap.
  static constexpr std::size_t most_messages = 1024;

  std::vector<Request*> requests_;
  std::vector<WatchedMessage> messages_;
  std::size_t last_found_ = 0;     ///< its place, or that of one that was new
  node::Waiter* armed_ = nullptr;  ///< requests_ are, for that one …
  bool probes_ = false;            ///< … and it is on the list of those that probe
};

/// Of the thread whose tests these are.
WatchSet& watch_set_of(wait::TestLoop& loop);

/// What a test that may last waits for: its own call's, or anything else that is watched.
class WatchedAwaited final : public wait::Awaited {
 public:
  /// `all`: nothing else is watched, and all of it is to be there.
  WatchedAwaited(WatchSet& watched, wait::Awaited& call, bool all)
      : watched_(watched), call_(call), all_(all) {}

  wait::Channel channel() const override { return call_.channel(); }
  bool ready() override { return call_.ready() || (!all_ && watched_.any_there()); }
  bool progress() override { return call_.progress(); }
  void arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void describe(wait::Situation& situation) const override { call_.describe(situation); }
  int cost_of_look() const override { return call_.cost_of_look(); }
  void about_to_sleep() override { call_.about_to_sleep(); }

 private:
  WatchSet& watched_;
  wait::Awaited& call_;
  const bool all_;
};

}  // namespace meantime::core
