// The sender's side. What goes at once takes the first of these ways that is open:
//   in place   into the buffer of a receive that is posted: thread ranks of one host
//   ring       up to eager_slot_bytes, into a slot of it (match/eager_ring.h)
//   cell       what has credit, if that is the quicker way for its size (match/route.h)
// Else it is a LocalSend:
//   offered    the description of where it is lies with its receiver; a short one's payload, too.
//              There a match says on which way it goes on (Transfers::choose)
//   waiting    not even that: nothing was sent yet, and later ones to that rank wait behind it
//   beyond     credit: a short one, offered, whose sender waits for credit (match/overflow.cpp)
// Private to the rank, its lock held.
#pragma once

#include "match/matcher.h"
#include "match/memory.h"
#include "match/transfers.h"

namespace meantime::match {

class Sends {
 public:
  Sends(Ground& ground, Cells& cells, Memory& memory, Transfers& transfers, Matcher& matcher)
      : ground_(ground), cells_(cells), memory_(memory), transfers_(transfers), matcher_(matcher) {}

  // --- what goes at once
  /// In place, and the send is over. False: nothing happened.
  bool copy_to_posted(int destination, const Envelope& envelope, const char* payload,
                      std::size_t bytes);
  /// Where to write a short message's payload (up to eager_slot_bytes), if it may take the ring to
  /// that rank; else nullptr. Follow with `push_slot`.
  char* eager_slot(int destination, std::size_t bytes, const Envelope& envelope) {
    Peer& to = ground_.peers[destination];
    return to.takes_ring() ? fill_slot(destination, to, bytes, envelope) : nullptr;
  }
  void push_slot(int destination);
  /// A cell to write `bytes` of payload to, or nullptr: then use `start`. Follow with `push`.
  /// `contiguous`: the payload lies in one run, so that it could also go without a cell.
  Message* eager_cell(int destination, std::size_t bytes, bool contiguous);
  void push(Message& message) {
    const auto destination = static_cast<int>(message.destination);
    if (message.kind != ItemKind::eager || !ground_.peers[destination].takes_ring() ||
        !push_through_ring(message)) {
      matcher_.push(message);
    }
  }

  // --- what does not
  /// Returns an MPI error class.
  int start(LocalSend& send);
  /// True once the payload is out of the sender's hands; gives the cell back.
  bool finished(LocalSend& send) {
    return send.done || (send.message != nullptr && reap(send)) ||
           (send.matched && end_fetched(send));
  }
  /// From buffer to buffer; before the match, if that is what it is meant for.
  bool goes_directly(const LocalSend& send) const;
  int arm(LocalSend& send, node::Waiter& waiter);
  void disarm(LocalSend& send);

  /// There are some that lack memory.
  bool has_waiting() const { return waiting_ != 0 || without_cell_ != nullptr; }
  bool awaits_credit() const { return awaiting_credit_ != 0; }
  /// How long until these are checked next.
  std::uint64_t check_interval_ns() const { return check_interval_ns_; }
  /// What waits goes on, if it can. True if anything moved.
  bool progress() { return (waiting_ | awaiting_credit_) != 0 && go_on(); }
  /// The memory of all that is over.
  void reap_all();
  /// Before the rank leaves MPI.
  void orphan_overflowed();

 private:
  Message* free_eager_cell(Peer& to, int destination, std::size_t bytes, bool contiguous);
  bool goes_through_cell(int destination, std::size_t bytes, bool contiguous);
  void fill_envelope(Message& message, int destination, const Peer& to, std::size_t bytes);
  bool offer(LocalSend& send, Peer& to);
  bool send_or_offer(LocalSend& send, Peer& to);
  bool send_in_cell(LocalSend& send, Peer& to);
  bool go_on();
  bool send_waiting();
  bool reap(LocalSend& send);
  void take_cell_back(LocalSend& send);
  static bool end_fetched(LocalSend& send);

  // match/eager_ring.cpp
  bool make_ring(int destination, Peer& to);
  EagerSlot* free_slot(int destination, Peer& to);
  char* fill_slot(int destination, Peer& to, std::size_t bytes, const Envelope& envelope);
  bool push_through_ring(const Message& message);

  // match/overflow.cpp
  bool finds_credit(Peer& to, std::size_t bytes);
  void await_credit(LocalSend& send, Peer& to);
  void overflow(LocalSend& send, Peer& to);
  void gather_overflowed(Peer& to);
  void gather_first_overflowed(Peer& to);
  bool overflow_or_end(Peer& to, std::uint64_t now_ns);
  bool check_credit();

  Ground& ground_;
  Cells& cells_;
  Memory& memory_;
  Transfers& transfers_;
  Matcher& matcher_;

  std::size_t waiting_ = 0;
  std::size_t awaiting_credit_ = 0;
  const LocalSend* without_cell_ = nullptr;  ///< the short one that is offered for lack of memory
  std::uint64_t next_check_ns_ = 0;          ///< when next at those beyond credit
  std::uint64_t check_interval_ns_ = 0;
  std::uint64_t gather_next_ns_ = 0;  ///< all that overflowed, when there is no credit
};

}  // namespace meantime::match
