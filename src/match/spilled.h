// Unexpected messages of this rank that have left the segment, because somebody lacks memory there:
// in memory of its own, so that a program may have as many unread as it has memory, however small
// the segment is. All of them are older than those in the queues of its mailbox (match/queues.h),
// and no posted receive is for one: whoever spills has sorted in everything before.
//   a copy      of an eager message; its cell goes back
//   stays       one with a Transfer, where it is: the sender looks at it. Only its place in the
//               order is here; until its payload is fetched, from its cell or from the sender's
//               memory, if that can be. Then its send is over, or, where it is synchronous,
//               fetched: the sender waits for a notice of the match
//
// Why no notice comes to nothing. The receiver says `fetched` (release: it has read the cell)
// before it pushes the notice, so a sender that took the notice off its attention list (acquire)
// finds `fetched`, and takes its cell back before it calls the send over. It is pushed and rung for
// as any call for attention. Whichever thread of the sender's rank hears it marks the send and
// rings the one that has armed for it, both under the rank's lock.
//
// Private to the rank, its lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "match/items.h"

namespace meantime::match {

class Spilled {
 public:
  Spilled() = default;
  ~Spilled();
  Spilled(const Spilled&) = delete;
  Spilled& operator=(const Spilled&) = delete;

  /// `bytes`: that the copies may take.
  void prepare(std::size_t bytes) { room_ = bytes; }

  bool empty() const { return messages_.empty(); }
  std::uint32_t entries() const { return static_cast<std::uint32_t>(messages_.size()); }

  /// Younger than all that are here. False: there is no room for a copy of it.
  bool add(Message& message);
  /// A copy of the oldest that stays and can be fetched, which is what `fetch` says: it fills the
  /// payload, and the message is its sender's then. False: there is none, or no room.
  bool copy_one(const std::function<bool(Message&, char*)>& fetch);
  bool can_copy_more() const { return !staying_.empty(); }
  /// The oldest that matches, left where it is; nullptr if there is none.
  Message* find(const Envelope& wanted) const;
  /// The same, taken out. Whoever is done with a copy calls `forget`.
  Message* take(const Envelope& wanted);
  static void forget(Message& copy);

 private:
  struct Entry {
    Message* message;
    bool is_copy;
  };
  using InOrder = std::map<std::uint64_t, Entry>;
  /// The first of these from number 0 on is the oldest that is like it.
  struct Alike {
    Envelope envelope;
    std::uint64_t number;
    bool operator<(const Alike& other) const;
  };

  InOrder::const_iterator search(const Envelope& wanted) const;
  /// Without its payload; nullptr: there is no room.
  Message* make_copy(const Message& message);
  void drop(Message& copy);

  InOrder messages_;  ///< by their number, in order of arrival
  std::set<Alike> alike_;
  std::set<std::uint64_t> staying_;  ///< numbers
  std::uint64_t added_ = 0;
  std::size_t room_ = 0;
};

}  // namespace meantime::match
