// The matching engine of one rank: its hands on the mailboxes of the node.
//   inbox     a rank's lock-free stack of items; anybody pushes, the holder of the right empties it
//   right     leave to touch a mailbox's queues; taken by compare-and-swap, never waited for: who
//             does not get it leaves its item in the inbox, and the holder looks again after
//             release
//   credit    how much of this rank's memory may lie unread in one mailbox; beyond it a message
//             travels as a description of where it is, beyond those it waits at the sender. That of
//             short messages grows while nobody reads them (match/room.cpp)
// One sender's messages to one rank keep their order: the inbox keeps it, and so does the queue of
// those that wait for credit. Private to its rank, the rank's lock held (src/rank/lock.h).
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "match/express.h"
#include "match/items.h"
#include "match/peers.h"
#include "match/queues.h"
#include "match/route.h"
#include "node/pool.h"
#include "rank/rank.h"

namespace meantime::match {

/// After a copy into or out of an eager message's cell. (The receiver writes to the sender's line
/// only if the copies of this one are timed.)
inline void note_copy(Message& message, const Stopwatch& stopwatch) {
  if (message.copy_ns != 0) {
    message.copy_ns += stopwatch.nanoseconds();
  }
}

/// Of a direct transfer, in bytes. 64 KiB in two of 32 go at 8.3 GB/s, in one at 10.3.
inline constexpr std::uint64_t least_fragment = 64 * 1024;

struct Engine {
  Engine(Rank& rank, const Typed& typed);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void prepare();

  // --- sending
  /// Between thread ranks of a host: if the receive for this message is posted already, copies the
  /// payload there, and the send is over. False: nothing happened.
  bool copy_to_posted(int destination, const Envelope& envelope, const char* payload,
                      std::size_t bytes);
  /// A cell to write `bytes` of payload to (by `fill`), or nullptr: then use `start`. Follow with
  /// `push`. `contiguous`: the payload lies in one run, so that it could also go without a cell.
  Message* eager_cell(int destination, std::size_t bytes, bool contiguous);
  void push(Message& message);
  /// Where to write a short message's payload (up to express_bytes), if it may take the ring to
  /// that rank; else nullptr. Follow with `push_express`.
  char* express_slot(int destination, std::size_t bytes, const Envelope& envelope);
  void push_express(int destination);
  /// Starts a send that is not eager. Returns an MPI error class.
  int start(LocalSend& send);
  /// True once the payload is out of the sender's hands; gives the cell back.
  bool finished(LocalSend& send);
  /// From buffer to buffer; before the match, if that is what it is meant for.
  bool goes_directly(const LocalSend& send) const;
  int arm(LocalSend& send, node::Waiter& waiter);
  void disarm(LocalSend& send);

  // --- receiving
  /// nullptr when out of memory. `address` is 0 for a non-contiguous receive.
  Receive* new_receive(LocalReceive& local, const Envelope& wanted, std::uint64_t address,
                       std::uint64_t capacity);
  void post(Receive& receive);
  /// For a blocking receive, before it is posted: most messages are under way already, and then no
  /// entry, no queue and no request is needed. The message for `hand`, taken out of the mailbox, if
  /// it is there or comes within so many turns of polling; else nullptr. It comes after every
  /// receive posted before. Hand it to `receive_probed`, or, once its payload is read, to `empty`.
  /// *at_once becomes true if no turn was needed.
  Message* catch_message(const Envelope& hand, int turns, bool* at_once = nullptr);
  /// An eager message that a catch gave is read: the cell goes back.
  void empty(Message& message) { give_back(message); }
  /// Posts a receive that can match only `message`, which probe or a catch took out of the queue.
  void receive_probed(Receive& receive, Message& message);
  /// True once everything is there; then the results in the entry are valid.
  bool finished(Receive& receive);
  /// From buffer to buffer; before the match, if a message that fills it would likely go so.
  /// `from`: world rank, or no_peer.
  bool goes_directly(const Receive& receive, int from) const;
  void release(Receive& receive);
  int arm(Receive& receive, node::Waiter& waiter);
  void disarm(Receive& receive);
  /// Takes it back if there is no match yet. As long as it cannot be known because of a rank that
  /// is stopped, it stays open, and `finished` tries again.
  void cancel(Receive& receive);
  /// The first unexpected message that matches; `take` removes it from the queue (mprobe).
  Message* probe(const Envelope& wanted, bool take);
  /// A sleep for such a message: until `stop_seeking`, one that is added to the unexpected ones
  /// counts the waiter down.
  void seek(node::Waiter& waiter, const Envelope& wanted);
  void stop_seeking(node::Waiter& waiter);

  // --- progress
  /// Empties the inbox and moves what this rank can move. True if anything moved. Cheap if not.
  bool progress();
  /// Something waits for memory or credit, for which nobody rings. Rare: a million messages lie
  /// unread, or the node's segment is full. (Or for the end of its patience, for a rank that is
  /// stopped, or, after a second, for the test wire.)
  bool starving() const {
    return deferred_ != 0 || patient_ != 0 || no_pipe_ || steps_on_wire_ != 0 || cancels_ != 0 ||
           lacking_ != 0;
  }
  /// While it lives, its rank waits for `memory`.
  class Starves {
   public:
    explicit Starves(Engine& engine) : engine_(engine) { ++engine.lacking_; }
    ~Starves() { --engine_.lacking_; }
    Starves(const Starves&) = delete;
    Starves& operator=(const Starves&) = delete;

   private:
    Engine& engine_;
  };
  /// With nothing to do but to sleep, armed, or to poll: of what others may lack.
  void let_go();
  /// It leaves MPI: what it has free is for the others.
  void leave_memory();
  void come_back();
  /// Somebody may still read a payload from this rank's own memory, though its send is over: it
  /// must not leave before.
  bool keeps_payloads();
  /// How long to sleep then.
  std::uint64_t nap_ns() const;

  /// Shared memory for whatever, to be given back to the pool; 0: the segment is full, and this
  /// rank has nothing that is free.
  Link memory(std::size_t bytes);

  Rank& rank;
  bool arms_for_rank = false;  ///< what is armed now any thread of the rank moves on
  Limits limits;
  node::Pool pool;

 private:
  bool finds_credit(Peer& to, std::size_t bytes);
  void be_patient(LocalSend& send, Peer& to);
  void leave_behind(LocalSend& send, Peer& to);
  void gather_left_behind(Peer& to);
  void gather_first_left_behind(Peer& to);
  void orphan_left_behind();
  void forget_left_behind();
  bool end_patience(Peer& to, std::uint64_t now_ns);
  bool make_room();
  bool is_thread_rank() const { return rank.fiber != nullptr; }
  /// Thread ranks of one host: one memcpy is all a direct copy is.
  bool in_one_address_space(int world_rank) const;
  bool goes_through_cell(int destination, std::size_t bytes, bool contiguous);
  Message* cell(int destination, std::size_t bytes);
  Link find_memory(std::size_t bytes);
  void gather_free();
  void want_memory();
  void end_of_want();
  void memory_is_back(int world_rank);
  void give_up_memory();
  void add_fresh_cell(Link place, int size_class);
  Message* larger_cell(int destination, int size_class);
  Message* cell_at(Link place, int destination);
  void fill_envelope(Message& message, int destination, const Peer& to, std::size_t bytes);
  bool offer(LocalSend& send, Peer& peer);
  bool reap(LocalSend& send);
  bool send_deferred();
  bool send_in_cell(LocalSend& send, Peer& to);
  Message* free_eager_cell(Peer& to, int destination, std::size_t bytes, bool contiguous);
  void take_back_cells();
  void give_back(Message& message);
  void flush_emptied();
  bool take_back_some_cells();
  void take_back_cell(Link link);
  template <class Take>
  Link unload(Link link, Take take);
  void leave_returned();
  bool take_from_who_left();

  bool make_express(int destination, Peer& to);
  ExpressSlot* free_slot(int destination, Peer& to);
  bool push_cell_express(const Message& message);
  Message& adopt(Message& from, Express& ring);
  void take_express(node::RankArea& area, QueueView& queues, Express& ring);
  void take_express_before(node::RankArea& area, QueueView& queues, const Message& message);
  bool take_all_express(node::RankArea& area, QueueView& queues);
  void leave_express(const Message& message);

  bool try_right(node::Mailbox& box);
  bool take_right();
  void cancel_now(Receive& receive);
  void try_to_cancel(Receive& receive);
  void let_go_of_right(node::Mailbox& box);
  void give_right_back();
  bool drain(int world_rank, Receive* last = nullptr);
  void empty_inbox(node::RankArea& area, QueueView& queues);
  void sort_in(node::RankArea& area, QueueView& queues, Item& item);
  void match(node::RankArea& area, QueueView& queues, Message& message);
  void add_unexpected(node::Mailbox& box, QueueView& queues, Message& message);
  void join(Message& message, Receive& receive);
  void join_rendezvous(Message& message, Receive& receive);
  void after_drain();

  void deliver_eager(Message& message, Receive& receive);
  void set_done(Receive& receive) { finish(receive, done); }
  void finish(Receive& receive, ReceiveState final_state);
  void deliver(Message& message);
  void leave(Message& message);
  void call_for_owner(Receive& receive);
  void notice_sender(Message& message);
  void copy_fragments(Message& message, bool as_receiver);
  int copy_to_pieces(Message& message, std::uint64_t begin, std::size_t bytes);
  void bytes_are_there(Message& message);
  void go_on_piped(Message& message, Receive& receive);
  void take_part(Receive& receive);
  bool attend();
  void rescan_offers();
  bool goes_through_pipe(const Message& message, const Transfer& transfer, const Receive& receive);
  bool move_pipes();
  bool make_pipe(Transfer& transfer);
  void release_pipe(Transfer& transfer);
  bool fill_pipe(Message& message);
  bool empty_pipe(Receive& receive);
  void ready_to_receive(Message& message);
  void put_on_wire(Item& item);
  bool step_has_arrived(Item& step);
  bool take_from_wire();
  void help_neighbours();
  node::SleepLink sleep_to_arm(const node::Waiter& waiter) const;
  /// 0: nobody sleeps.
  void wake(node::SleepLink sleep) {
    if (sleep != 0) {
      wake_sleeper(sleep);
    }
  }
  void wake_sleeper(node::SleepLink sleep);
  void wake_rank(int world_rank);

  node::Segment& segment_;
  node::RankArea& area_;
  node::Mailbox& box_;
  Typed typed_;
  Peers peers_;
  Credit credit_;
  Route route_;
  std::size_t deferred_ = 0;
  std::size_t patient_ = 0;            ///< sends
  std::size_t kept_ = 0;               ///< sends left behind whose payload is `kept`
  std::uint64_t look_at_them_ns_ = 0;  ///< when next
  std::uint64_t between_looks_ns_ = 0;
  std::uint64_t gather_next_ns_ = 0;  ///< all that were left behind, when there is no room
  bool known_ = false;                ///< to help_neighbours
  std::size_t steps_on_wire_ = 0;     ///< that of wire_ (which is looked at only if there are)
  std::size_t cancels_ = 0;           ///< receives to_cancel
  std::size_t lacking_ = 0;           ///< calls that wait for `memory`
  bool wanting_ = false;              ///< memory; match/memory.cpp
  bool moves_pipes_ = false;          ///< just now
  bool no_pipe_ = false;              ///< a pipe could not be made at the last try

  /// For when there is no other memory: a rank must be able to receive what fills the segment.
  static constexpr std::size_t most_spare_receives = 8;
  Link spare_receives_[most_spare_receives];
  std::size_t spare_receive_count_ = 0;
  static constexpr std::uint32_t spare_pipe_bytes = 512;
  static constexpr std::uint32_t least_pipe_bytes = 4096;  ///< of others
  Link spare_pipe_ = 0;                                    ///< 0: in use

  static constexpr int cell_classes = 24;
  Link free_cells_[cell_classes] = {};
  Link carriers_ = 0;  ///< of cells that are back, and not free yet

  static constexpr std::size_t emptied_limit = 32;
  Link emptied_[emptied_limit];
  std::size_t emptied_count_ = 0;
  std::size_t emptied_bytes_ = 0;
  /// Cells go back when there is nothing else to do: not in the short waits of a ping-pong, where
  /// the stores to lines of the sender would hold up the next message.
  static constexpr int idle_before_flush = 16;
  int idle_turns_ = 0;

  // Collected while a right is held, done after its release: nobody copies or makes system calls
  // with a right in hand.
  bool holds_right_ = false;
  const Envelope* hand_ = nullptr;  ///< while catch_message holds the own right
  Message* caught_ = nullptr;
  InHand in_hands_[2];  ///< one of them may be the one that is caught
  int free_hand_ = 0;
  std::size_t first_ring_ = 0;  ///< of a mailbox's, that is looked at first
  std::vector<node::SleepLink> to_wake_;
  std::vector<int> ranks_to_wake_;
  std::vector<Receive*> to_take_part_;
  std::vector<Message*> to_copy_;

  Receive* timed_pipe_ = nullptr;  ///< taken in place of one copy, and since when
  std::uint64_t timed_pipe_began_ = 0;
  std::vector<Message*> pipes_out_;
  std::vector<Receive*> pipes_in_;
  std::vector<Item*> wire_;  ///< receives of ours, sends of ours: whose next step comes to us
  std::vector<char> bounce_;
};

/// What this scope arms is armed for the rank: any thread of it that is awake may move it on. One
/// inside another one changes nothing.
class ArmingForRank {
 public:
  ArmingForRank();
  ~ArmingForRank() { arms_for_rank_ = outside_; }
  ArmingForRank(const ArmingForRank&) = delete;
  ArmingForRank& operator=(const ArmingForRank&) = delete;

 private:
  bool& arms_for_rank_;
  const bool outside_;
};

}  // namespace meantime::match
