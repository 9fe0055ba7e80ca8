// Which way a message goes where there are two. Small ones are always copied through a cell; for
// larger ones the machine decides:
//   two copies   into shared memory and out of it, through caches: a medium message through a cell,
//                a large one through a pipe, which needs both sides in MPI all the while
//   one copy     cross-memory attach: a handshake, and the kernel's work for each page
// Cores that share a cache make two copies the faster way by far: on the virtual EPYC of
// docs/decisions/0009-who-copies.md 64 KiB take 1.9 us, by one copy 4.4; 1 MiB 41 us and 82. Where
// lines travel from cache to cache it is the other way round (64 KiB: 11.8 and 5.6 us on a Sapphire
// Rapids). So both are timed, the quicker is taken, and the other is tried again now and then.
// Medium messages are routed by their sender, large ones by their receiver. Private to the rank,
// its lock held.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/heuristics.h"

namespace meantime::match {

class Route {
 public:
  /// What may go through a cell; larger ones are large.
  static constexpr std::size_t medium_bytes = 128 * 1024;

  /// Which way the next message of so many bytes, at least 1, had better go.
  bool two_copies(std::size_t bytes) {
    if (!uses(Heuristic::route)) {
      return bytes <= medium_bytes;
    }
    Size& size = of(bytes);
    ++size.messages;
    if (size.two == 0 || size.one == 0) {
      return size.messages % 2 == 0;
    }
    return (size.two < size.one) == (size.messages % messages_a_trial != 0);
  }

  /// As far as it is known.
  bool expects_two_copies(std::size_t bytes) const {
    if (!uses(Heuristic::route)) {
      return bytes <= medium_bytes;
    }
    const Size& size = sizes_[std::bit_width(bytes - 1)];
    return size.two != 0 && size.two < size.one;
  }

  /// What a message took. Of a medium one: the copies of both sides together.
  void two_copies_took(std::size_t bytes, std::uint64_t nanoseconds) {
    learn(of(bytes).two, bytes, nanoseconds);
  }
  void one_copy_took(std::size_t bytes, std::uint64_t nanoseconds) {
    learn(of(bytes).one, bytes, nanoseconds + handshake_ns);
  }

 private:
  /// Messages up to a power of two. Times in nanoseconds a KiB, 0: not known yet.
  struct Size {
    float two = 0;
    float one = 0;
    std::uint32_t messages = 0;
  };
  // The offer, the match, the notice to the sender: what a message without bytes would take.
  static constexpr std::uint64_t handshake_ns = 700;
  static constexpr std::uint32_t messages_a_trial = 128;

  Size& of(std::size_t bytes) { return sizes_[std::bit_width(bytes - 1)]; }

  // A copy that lost its core in between says nothing of copies: one sample at most doubles.
  static void learn(float& known, std::size_t bytes, std::uint64_t nanoseconds) {
    const float sample = static_cast<float>(nanoseconds) * 1024 / static_cast<float>(bytes);
    known = known == 0 ? sample : known + (std::min(sample, 2 * known) - known) / 8;
  }

  Size sizes_[65];
};

}  // namespace meantime::match
