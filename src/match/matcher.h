// Brings messages and posted receives together, of this rank and of those that sleep; what becomes
// of a match is not its business (Transfers::join).
//   inbox     a rank's lock-free stack of items; anybody pushes, the holder of the match lock
//             empties it
//   match lock
//             leave to touch a mailbox's queues; taken by compare-and-swap, never waited for: who
//             does not get it leaves its item in the inbox, and the holder looks again after
//             release
//   private   posted receives that only their owner sees (match/private_receives.h). Those in the
//             queues are older, and no unexpected message is for a private one: a receive stays
//             private only if its owner knows of none that lies there, and when others have added
//             some, which it sees with its next look, it publishes: all go to the queues. So it
//             does before it sleeps, too, because from then on others match for it; a lone one that
//             it has slept for in vain it takes back
//   spilled   unexpected messages of this rank that have left the segment (match/spilled.h)
//   hand      the envelope that a rank wants while it looks at its inbox itself
// One sender's messages to one rank keep their order in the inbox, and between it and the sender's
// ring (match/eager_ring.h). Private to its rank, the rank's lock held.
#pragma once

#include "match/eager_ring.h"
#include "match/private_receives.h"
#include "match/queues.h"
#include "match/spilled.h"
#include "match/transfers.h"

namespace meantime::match {

class Matcher {
 public:
  Matcher(Ground& ground, Cells& cells, Transitions& transitions, Transfers& transfers)
      : ground_(ground), cells_(cells), transitions_(transitions), transfers_(transfers) {}
  void prepare();

  /// A receive of this rank.
  void post(LocalReceive& receive) {
    if (may_stay_private(receive)) {
      receive.is_private = true;
      private_.add(receive);
    } else if (Message* const message = take_spilled(receive)) {
      transfers_.join(*message, filled_entry(receive));
      transfers_.after_match();
    } else {
      drain(ground_.rank.world_rank, &filled_entry(receive));
    }
  }
  /// All private ones go to the queues: others may match for this rank from now on.
  void publish() {
    if (!private_.empty()) {
      drain(ground_.rank.world_rank, &filled_entry(private_.take_last()));
    }
  }
  /// Awake again, and it is the only one that was published: private once more, if it is still
  /// open.
  void take_back(LocalReceive& receive) {
    if (posted_ == 1 && private_.empty() && may_be_private(receive)) {
      take_back_now(receive);
    }
  }
  /// Into the inbox of its destination.
  void push(Message& message);
  /// Empties the inbox and the rings of `world_rank` as far as nobody else does it. Behind all that
  /// go the private receives, if there is a `last` that comes after them, and that.
  bool drain(int world_rank, Receive* last = nullptr);
  /// A short message, to the buffer of the receive that is posted there, in this address space.
  /// False: there is none, or it cannot be written to.
  bool copy_to_posted(int world_rank, const Envelope& envelope, const char* payload,
                      std::size_t bytes);

  // --- of this rank
  bool has_mail() const {
    return !ground_.box.inbox.empty() || eager_rings_have_mail(ground_.area) ||
           (!private_.empty() && others_were_here());
  }
  /// Nothing for this rank lies there, as far as it can tell without the lock: a message that is
  /// coming may be missed, so this is only for who posts next.
  bool seems_empty() const { return unexpected_ == 0 && nothing_came(); }
  /// The message for `hand`, taken out of the mailbox, if it is there or comes within so many turns
  /// of polling; else nullptr. It comes after every receive posted before. *at_once becomes true if
  /// no turn was needed.
  Message* catch_message(const Envelope& hand, int turns, bool* at_once);
  /// Takes it back if there is no match yet. As long as it cannot be known because of a rank that
  /// is stopped, it stays open, and `try_to_cancel` tries again.
  void cancel(LocalReceive& receive);
  /// Of one that is to be cancelled: whether that is settled, either way.
  bool try_to_cancel(LocalReceive& receive);
  /// What nobody waits for leaves the segment, for somebody lacks memory there.
  void spill();
  bool is_cancelling() const { return cancels_ != 0; }
  /// The first unexpected message that matches; `take` removes it from the queue (mprobe).
  Message* probe(const Envelope& wanted, bool take);
  /// A sleep for such a message: until `disarm_probe`, one that is added to the unexpected ones
  /// counts the waiter down.
  void arm_probe(node::Waiter& waiter, const Envelope& wanted);
  void disarm_probe(node::Waiter& waiter);

 private:
  bool try_lock(node::Mailbox& box);
  bool lock_own();
  void unlock(node::Mailbox& box);
  void unlock_and_drain();
  void look_again(int world_rank);
  QueueView queues_of(const node::Mailbox& box) {
    return {*ground_.segment.at<Queues>(box.queues), ground_.pool};
  }
  void cancel_now(Receive& receive);
  bool spill_cells(bool& freed);
  void spill_offers();
  bool nothing_came() const { return !has_mail() && !others_were_here(); }

  bool may_be_private(const LocalReceive& receive) const;
  bool may_stay_private(const LocalReceive& receive) const;
  void take_back_now(LocalReceive& receive);
  Receive& filled_entry(LocalReceive& receive) const {
    return match::fill_entry(receive, ground_.rank.world_rank);
  }
  void publish_private(QueueView& queues);
  bool others_were_here() const {
    return ground_.box.held_by_others.load(std::memory_order_relaxed) != held_by_others_;
  }
  /// With a match lock, first of all.
  void settle(node::RankArea& area, QueueView& queues);
  Message* take_spilled(const Envelope& wanted) {
    Message* const message = spilled_.empty() ? nullptr : spilled_.take(wanted);
    unexpected_ -= message != nullptr ? 1 : 0;
    return message;
  }
  LocalReceive* take_private(const node::RankArea& area, const Envelope& message) {
    return &area == &ground_.area ? private_.take(message) : nullptr;
  }
  Receive* take_receive(const node::RankArea& area, QueueView& queues, const Envelope& message) {
    if (Receive* const receive = queues.take_receive(message)) {
      return receive;
    }
    LocalReceive* const receive = take_private(area, message);
    return receive != nullptr ? &filled_entry(*receive) : nullptr;
  }
  /// And the rings.
  void empty_inbox(node::RankArea& area, QueueView& queues) {
    while (!area.mailbox.inbox.empty() || (has_rings(area) && take_all_from_rings(area, queues))) {
      empty_inbox_once(area, queues);
    }
    receives_in_inbox_ = receives_in_inbox_ && &area != &ground_.area;
  }
  void empty_inbox_once(node::RankArea& area, QueueView& queues);
  void sort_in(node::RankArea& area, QueueView& queues, Item& item);
  void sort_in_last(QueueView& queues, Receive& receive, bool mail);
  void match(node::RankArea& area, QueueView& queues, Message& message);
  void add_unexpected(node::Mailbox& box, QueueView& queues, Message& message);
  bool is_for_hand(const Message& message) const {
    return hand_ != nullptr && takes(*hand_, message);
  }
  void give_to_hand(Message& message) {
    hand_ = nullptr;  // what comes after it is not for us
    caught_ = &message;
  }

  // match/eager_ring.cpp
  static bool has_rings(const node::RankArea& area) {  // they are given out from the first on
    return area.mailbox.eager_rings.front().load(std::memory_order_relaxed) != 0;
  }
  Message& adopt(Message& from, EagerRing& ring);
  void take_from_ring(node::RankArea& area, QueueView& queues, EagerRing& ring);
  void take_from_ring_before(node::RankArea& area, QueueView& queues, const Message& message);
  bool take_all_from_rings(node::RankArea& area, QueueView& queues);

  Ground& ground_;
  Cells& cells_;
  Transitions& transitions_;
  Transfers& transfers_;

  PrivateReceives private_;
  Spilled spilled_;
  bool allows_private_ = false;
  // As this rank has left its mailbox, or found it.
  std::uint32_t unexpected_ = 0;  ///< with the spilled ones
  std::uint32_t posted_ = 0;
  std::uint32_t held_by_others_ = 0;

  bool receives_in_inbox_ = false;  ///< of this rank, perhaps
  const Envelope* hand_ = nullptr;  ///< only while this rank holds its own match lock
  Message* caught_ = nullptr;
  InHand in_hands_[2];  ///< one of them may be the one that is caught
  int free_hand_ = 0;
  std::size_t first_ring_ = 0;  ///< of a mailbox's, that is looked at first
  std::size_t cancels_ = 0;     ///< receives to_cancel
};

}  // namespace meantime::match
