// Receives that a rank has posted and keeps to itself, oldest first. While it is awake nobody else
// matches for it, but for large payloads, so they need no place in the mailbox's queues, and no
// match lock (match/matcher.h). All are younger than those in the queues. Private to the rank.
#pragma once

#include <array>
#include <cstdint>

#include "match/items.h"

namespace meantime::match {

class PrivateReceives {
 public:
  bool empty() const { return first_ == end_; }
  bool full() const { return end_ - first_ == most; }

  void add(Receive& receive) { at(end_++) = &receive; }
  /// The first that takes such a message, out of here; nullptr if there is none.
  Receive* take(const Envelope& message) {
    for (std::uint32_t place = first_; place != end_; ++place) {
      if (takes(*at(place), message)) {
        return take_at(place);
      }
    }
    return nullptr;
  }
  /// False: it is not here.
  bool remove(const Receive& receive) {
    for (std::uint32_t place = first_; place != end_; ++place) {
      if (at(place) == &receive) {
        take_at(place);
        return true;
      }
    }
    return false;
  }
  Receive& take_first() { return *at(first_++); }
  Receive& take_last() { return *at(--end_); }

 private:
  /// A window of receives as benchmarks have them; where there are more, hashing is quicker.
  static constexpr std::uint32_t most = 64;

  Receive*& at(std::uint32_t place) { return receives_[place % most]; }
  Receive* take_at(std::uint32_t place) {
    Receive* const receive = at(place);
    for (; place != first_; --place) {
      at(place) = at(place - 1);
    }
    ++first_;
    return receive;
  }

  std::array<Receive*, most> receives_;
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace meantime::match
