// Receives that a rank has posted and keeps to itself, oldest first. While it is awake nobody else
// matches for it, but for large payloads, so they need no place in the mailbox's queues, no match
// lock (match/matcher.h), and nothing in their entries. All are younger than those in the queues.
// Private to the rank.
#pragma once

#include <array>
#include <cstdint>

#include "match/local.h"

namespace meantime::match {

class PrivateReceives {
 public:
  bool empty() const { return first_ == end_; }
  bool full() const { return end_ - first_ == most; }

  void add(LocalReceive& receive) { at(end_++) = &receive; }
  /// The first that takes such a message, out of here; nullptr if there is none.
  LocalReceive* take(const Envelope& message) {
    for (std::uint32_t place = first_; place != end_; ++place) {
      if (takes(*at(place), message)) {
        return take_at(place);
      }
    }
    return nullptr;
  }
  LocalReceive& take_first() { return *at(first_++); }
  LocalReceive& take_last() { return *at(--end_); }

 private:
  /// A window of receives as benchmarks have them; where there are more, hashing is quicker.
  static constexpr std::uint32_t most = 64;

  LocalReceive*& at(std::uint32_t place) { return receives_[place % most]; }
  LocalReceive* take_at(std::uint32_t place) {
    LocalReceive* const receive = at(place);
    for (; place != first_; --place) {
      at(place) = at(place - 1);
    }
    ++first_;
    return receive;
  }

  std::array<LocalReceive*, most> receives_;
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace meantime::match
