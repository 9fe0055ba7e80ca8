// Flow control: how much of a rank's memory lies unread at the others, and how much may.
//   credit   for cells, to one rank and in all (Limits); medium messages leave half to small ones.
//            It grows where a receiver reads nothing: match/overflow.cpp
//   offers   descriptions of where a message is; beyond those it waits at its sender
// Numbers only, so that a test can play any traffic. Private to a rank, its lock held.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "match/items.h"
#include "match/limits.h"

namespace meantime::match {

class Credit {
 public:
  /// What lies at one other rank.
  struct Account {
    std::size_t bytes = 0;           ///< of cells
    std::size_t grown = 0;           ///< their credit, once it has grown
    std::size_t bytes_at_check = 0;  ///< of them, at the last check …
    std::uint64_t read_ns = 0;       ///< … and when one found fewer than before
    std::uint32_t offers = 0;
  };

  explicit Credit(const Limits& limits) : limits_(limits) {}

  bool allows(const Account& to, std::size_t bytes) const {
    const std::size_t share = bytes > limits_.eager + sizeof(Message) ? 2 : 1;
    return to.bytes + bytes <= credit_at(to) / share &&
           bytes_out_ + bytes <= credit_in_all() / share;
  }
  bool allows_offer(const Account& to) const { return to.offers < limits_.pair_offers; }
  /// Whether a short message's payload may lie in its cell beyond the credit.
  bool may_overflow(std::size_t payload) const {
    return bytes_out_ + std::bit_ceil(offer_bytes(payload)) <= limits_.most_credit;
  }

  void count_in(Account& to, std::size_t bytes) {
    to.bytes += bytes;
    bytes_out_ += bytes;
  }
  /// Not below 0: it may be from before a new beginning.
  void count_out(Account& to, std::size_t bytes) {
    to.bytes -= std::min(to.bytes, bytes);
    bytes_out_ -= std::min(bytes_out_, bytes);
  }
  /// With every account's `bytes` 0: what still lies unread is nobody's any more.
  void begin_anew() { bytes_out_ = 0; }

  /// What lies there has its credit, be it counted in beyond it.
  bool is_within_credit(const Account& to) const {
    return to.bytes <= credit_at(to) && bytes_out_ <= credit_in_all();
  }
  /// Since when nothing was read, as far as the checks tell.
  std::uint64_t unread_since(Account& to, std::uint64_t now_ns) const {
    if (to.bytes < to.bytes_at_check) {
      to.read_ns = now_ns;
    }
    to.bytes_at_check = to.bytes;
    return to.read_ns;
  }
  /// Where that is beyond its credit: to twice what lies there.
  void grow(Account& to) {
    if (to.bytes > credit_at(to)) {
      to.grown = std::min(2 * to.bytes, limits_.most_credit);
    }
    if (bytes_out_ > credit_in_all()) {
      grown_ = std::min(2 * bytes_out_, limits_.most_credit);
    }
  }

 private:
  std::size_t credit_at(const Account& to) const { return std::max(limits_.pair_credit, to.grown); }
  std::size_t credit_in_all() const { return std::max(limits_.rank_credit, grown_); }

  const Limits& limits_;
  std::size_t bytes_out_ = 0;
  std::size_t grown_ = 0;  ///< the credit in all, once it has grown
};

}  // namespace meantime::match
