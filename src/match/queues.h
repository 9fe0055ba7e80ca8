// The two queues of a mailbox: posted receives and unexpected messages, found by hash.
//   key     (context, source, tag); a receive's may have wildcards
//   kind of wildcard   0 none, 1 any source, 2 any tag, 3 both: a message looks into the (at most
//           four) chains where a receive that takes it can be, and takes the one posted first
//   lane      the unexpected messages of one sender, in order. A receive from any source takes what
//           arrived first while few messages lie there; once there are many, and until none is
//           left, some of each lane in turn, so that a sender that floods does not hold up the
//           others by what it is ahead of them
//   turn      the lane that is served; or whose message a probe has just shown, so that a receive
//           like it gets the same one
// All in the segment and touched only by the holder of the mailbox's match lock, who may be any
// rank: new tables come from the holder's own pool.
#pragma once

#include "match/items.h"
#include "node/pool.h"

namespace meantime::match {

struct Chain {
  Link first;
  Link last;
};

/// By world rank of the sender. Those with messages make a ring.
struct Lane {
  Chain messages;
  std::uint32_t entries;
  std::uint32_t next;
  std::uint32_t previous;
};

struct Table {
  Link chains;  ///< Chain[mask + 1]
  std::uint32_t mask;
  std::uint32_t entries;
};

struct Queues {
  Table posted;
  Table unexpected;
  std::uint32_t posted_by_kind[4];
  Chain arrivals;       ///< of the unexpected
  std::uint64_t order;  ///< receives posted so far
  Link lanes;           ///< Lane[ranks], from when there were many messages first; or 0
  bool in_lanes;        ///< all unexpected messages are in them now
  bool shown;           ///< to a probe from any source, and none was removed since
  std::uint32_t lanes_in_use;
  std::uint32_t short_lanes;  ///< of those
  std::uint32_t turn;
  std::uint32_t served;  ///< messages of this turn
};

/// A view of one mailbox's queues for the holder of its match lock.
class QueueView {
 public:
  QueueView(Queues& queues, node::Pool& pool)
      : queues_(queues), pool_(pool), segment_(node::segment()) {}

  /// Makes the tables of a fresh mailbox, for which there must be memory: a rank begins with it.
  void prepare();

  /// The receive that takes such a message, left where it is; nullptr if there is none.
  Receive* find_receive(const Envelope& message) const;
  /// The same, taken out of the queue.
  Receive* take_receive(const Envelope& message) {
    return queues_.posted.entries == 0 ? nullptr : take_one_of_many(message);
  }
  void add_receive(Receive& receive);
  bool has_one_receive() const { return queues_.posted.entries == 1; }
  void remove_receive(Receive& receive);

  /// The unexpected message that such a receive gets, out of the queue; nullptr if there is none.
  Message* take_message(const Envelope& wanted) {
    Message* const message = find_message(wanted);
    if (message != nullptr) {
      remove_message(*message);
    }
    return message;
  }
  /// The same, left where it is.
  Message* find_message(const Envelope& wanted) const;
  Message* oldest_message() const {
    return queues_.arrivals.first == 0 ? nullptr : segment_.at<Message>(queues_.arrivals.first);
  }
  /// It will be the same next time, unless one is removed before.
  void show(const Message& message);
  void add_message(Message& message);
  void remove_message(Message& message);

 private:
  Receive* take_one_of_many(const Envelope& message);
  template <class Entry>
  void append(Table& table, Entry& entry);
  template <class Entry>
  void unlink(Table& table, Entry& entry);
  template <class Entry>
  void enlarge(Table& table);
  Lane& lane(std::uint32_t world_rank) const;
  Message* find_in_lanes(const Envelope& wanted) const;
  void make_lanes();
  void join_lane(Message& message, Link link);
  void leave_lane(const Message& message);
  template <class Entry>
  Entry* first_like(const Table& table, const Envelope& key) const;
  Chain& chain(const Table& table, const Envelope& key) const;

  Queues& queues_;
  node::Pool& pool_;
  node::Segment& segment_;
};

}  // namespace meantime::match
