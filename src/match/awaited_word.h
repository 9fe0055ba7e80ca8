// The state of something that others complete, for which its owner may sleep: a word and the sleep
// that is armed for it. Below the flag `awaited` the state itself (ReceiveState, TransferState),
// above it a number.
//   Whoever changes the state to what is waited for reads the sleep first (afterwards the entry may
// be gone), then changes the word that it saw before. Each arming gives the word another number, so
// that this fails if meanwhile one thread of the owner has disarmed and another armed. (The number
// comes round after 8 million armings of one entry.)
#pragma once

#include <atomic>
#include <cstdint>

#include "node/layout.h"

namespace meantime::match {

class AwaitedWord {
  static constexpr std::uint32_t state_mask = 0x7f;  ///< marks above it

 public:
  struct Changed {
    node::SleepLink sleep;  ///< to ring, or 0
    std::uint32_t before;   ///< the word
    std::uint32_t state() const { return before & state_mask; }
  };

  AwaitedWord(std::atomic<std::uint32_t>& word, std::atomic<node::SleepLink>& sleep)
      : word_(word), sleep_(sleep) {}

  static std::uint32_t state_in(const std::atomic<std::uint32_t>& word) {
    return word.load(std::memory_order_acquire) & state_mask;
  }

  /// Whoever makes it `over` from now on gets this sleep. False if it is so already.
  template <class Over>
  bool arm(node::SleepLink sleep, Over over) {
    // Written before the flag (release), read after it (acquire).
    sleep_.store(sleep, std::memory_order_relaxed);
    std::uint32_t old = word_.load(std::memory_order_acquire);
    while (!over(old & state_mask)) {
      if (word_.compare_exchange_weak(old, (old + arming_step) | awaited,
                                      std::memory_order_acq_rel)) {
        return true;
      }
    }
    return false;
  }
  void disarm() { word_.fetch_and(~awaited, std::memory_order_acq_rel); }

  /// A step on the way, or a mark, which nobody is signalled for: its bits are added. Returns the
  /// state before.
  std::uint32_t add(std::uint32_t bits) {
    return word_.fetch_or(bits, std::memory_order_acq_rel) & state_mask;
  }
  /// What is waited for. From then on the entry is its owner's.
  [[nodiscard]] Changed become(std::uint32_t state) {
    return change([state](std::uint32_t) { return state; });
  }
  /// The same by who owns the entry with nobody else: no compare-and-swap.
  [[nodiscard]] Changed become_alone(std::uint32_t state) {
    const std::uint32_t old = word_.load(std::memory_order_relaxed);
    const node::SleepLink sleep = armed(old);
    word_.store(state, std::memory_order_release);
    return {sleep, old};
  }
  /// The state stays, but nobody needs to wait for it any more.
  [[nodiscard]] Changed let_sleeper_go() {
    return change([](std::uint32_t old) { return old & ~awaited; });
  }

 private:
  static constexpr std::uint32_t awaited = 0x100;
  static constexpr std::uint32_t arming_step = 0x200;

  node::SleepLink armed(std::uint32_t word) const {
    return (word & awaited) != 0 ? sleep_.load(std::memory_order_relaxed) : 0;
  }
  template <class To>
  Changed change(To to) {
    std::uint32_t old = word_.load(std::memory_order_acquire);
    node::SleepLink sleep = 0;
    do {
      sleep = armed(old);
    } while (!word_.compare_exchange_weak(old, to(old), std::memory_order_seq_cst));
    return {sleep, old};
  }

  std::atomic<std::uint32_t>& word_;
  std::atomic<node::SleepLink>& sleep_;
};

}  // namespace meantime::match
