// The two queues of a mailbox: posted receives and unexpected messages, found by hash.
//   key     (context, source, tag); a receive's may have wildcards
//   kind of wildcard   0 none, 1 any source, 2 any tag, 3 both: a message looks into the (at most
//           four) chains where a receive that takes it can be, and takes the one posted first
// All in the segment and touched only by the holder of the mailbox's right, who may be any rank:
// new tables come from the holder's own pool.
#pragma once

#include "match/items.h"
#include "node/segment.h"

namespace meantime::match {

struct Chain {
  Link first;
  Link last;
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
};

/// A view of one mailbox's queues for the holder of its right.
class QueueView {
 public:
  QueueView(Queues& queues, node::Pool& pool)
      : queues_(queues), pool_(pool), segment_(node::segment()) {}

  /// Makes the tables of a fresh mailbox. False when out of memory.
  bool prepare();

  /// The receive that takes such a message, left where it is; nullptr if there is none.
  Receive* find_receive(std::uint32_t context, std::int32_t source, std::int32_t tag) const;
  /// The same, taken out of the queue.
  Receive* take_receive(const Message& message);
  void add_receive(Receive& receive);
  void remove_receive(Receive& receive);

  /// The first unexpected message that matches, left where it is; nullptr if there is none.
  Message* find_message(std::uint32_t context, std::int32_t source, std::int32_t tag) const;
  void add_message(Message& message);
  void remove_message(Message& message);

 private:
  template <class Entry>
  void append(Table& table, Entry& entry);
  template <class Entry>
  void unlink(Table& table, Entry& entry);
  template <class Entry>
  void enlarge(Table& table);
  Chain& chain(const Table& table, std::uint32_t context, std::int32_t source,
               std::int32_t tag) const;

  Queues& queues_;
  node::Pool& pool_;
  node::Segment& segment_;
};

}  // namespace meantime::match
