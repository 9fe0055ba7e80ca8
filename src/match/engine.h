// The matching engine of one rank: its hands on the mailboxes of the node. The parts:
//   Sends      what this rank sends: at once, or when the receiver or the credit is there
//   Matcher    brings messages and posted receives together, in its own mailbox and in sleepers'
//   Transfers  what becomes of a match: the ways of the payloads (match/ways)
//   Cells      what short messages travel in; Credit, how much of it may lie unread
//   Memory     what is free goes to whoever lacks it
// Here are a rank's receives, and its turns. Private to the rank, its lock held (src/rank/lock.h).
#pragma once

#include <utility>

#include "base/replaced.h"
#include "match/sends.h"
#include "match/ways/remote.h"

namespace meantime::match {

struct Engine : Ground {
  Engine(Rank& owner, const Typed& types);

  /// When the limits are known.
  void prepare();

  // --- receiving
  /// Takes an entry for one that is not begun. False when out of memory.
  bool take_entry(LocalReceive& receive);
  /// Once it has one. It stays where it is until it is over.
  void post(LocalReceive& receive) {
    if (receive.looks_elsewhere) {
      ++looks_elsewhere;
      open_bytes += receive.capacity;
      may_be_first += receive.may_be_first ? 1 : 0;
    }
    matcher.post(receive);
  }
  /// For a blocking receive, before it is posted: most messages are under way already, and then no
  /// entry, no queue and no request is needed. What Matcher::catch_message finds, unless the rank
  /// has other work. Hand it to `receive_probed`, or, once its payload is read, to `empty`.
  Message* catch_message(const Envelope& hand, int turns, bool looks_elsewhere,
                         bool* at_once = nullptr);
  /// An eager message that a catch gave is read: the cell goes back.
  void empty(Message& message) { cells_.give_back(message); }
  /// Instead of posting it: it gets `message`, which probe or a catch took out of the queue.
  void receive_probed(LocalReceive& receive, Message& message);
  /// True once it is over.
  bool finished(LocalReceive& receive);
  /// From buffer to buffer; before the match, if a message that fills it would likely go so.
  /// `from`: world rank, or no_peer.
  bool goes_directly(const LocalReceive& receive, int from) const;
  int arm(LocalReceive& receive, node::Waiter& waiter);
  void disarm(LocalReceive& receive);

  // --- progress
  /// Empties the inbox and moves what this rank can move. True if anything moved. Cheap if not.
  bool progress();
  /// Something waits for memory or credit, for which nobody rings. Rare: a million messages lie
  /// unread, or the node's segment is full. (Or for the overflow, for a rank that is
  /// stopped, or, after a second, for the test wire.)
  bool starving() const {
    return sends.awaits_credit() || starves_without_end() ||
           (remote != nullptr && remote->awaits_credit());
  }
  /// How long to sleep then.
  std::uint64_t nap_ns() const;
  /// With nothing to do but to sleep, armed, or to poll: of what others may lack.
  void let_go() {
    if (memory.let_go()) [[unlikely]] {
      matcher.spill();
    }
  }
  /// The last of that, before a sleep: from here on the network rings, too. What comes meanwhile
  /// is moved, and who waits for it is signalled.
  void hear_network() {
    if (remote != nullptr) {
      hear_network_now();
    }
  }
  /// Something that it has begun can be moved on when the network brings more.
  bool waits_for_network() const {
    return remote != nullptr && (looks_elsewhere != 0 || remote->is_under_way());
  }
  /// The network may bring what is to be answered, even while the rank computes: a long message,
  /// that is fetched; more of short ones than a socket takes; the first of a process, with which
  /// UCX connects only now; the fetching of one of this rank's own. Else what comes can lie in the
  /// socket until the rank looks, and waking a thread for it is in vain. (A stencil of 5 KiB halos,
  /// four thread ranks a node: 1.3 % of its time.)
  bool may_have_to_answer() const {
    return remote != nullptr &&
           ((looks_elsewhere != 0 && (may_be_first != 0 || open_bytes >= limits.answered_from)) ||
            remote->may_be_fetched() || remote->is_under_way());
  }
  /// Others wait for notices of this rank's, which must not leave MPI before.
  bool owes_notices() const { return cells_.owes_notices(); }
  /// It leaves MPI: what it has free is for the others.
  void leave();
  void come_back();

  Memory memory;
  Matcher matcher;
  Sends sends;
  int looks_elsewhere = 0;  ///< receives and probes that are open, and may be for what others send
  int may_be_first = 0;     ///< those receives that a sender's first message may be for
  std::uint64_t open_bytes = 0;  ///< for which all of those receives have room

 private:
  bool is_turn_of_network();
  [[gnu::noinline]] Message* catch_message_from_anywhere(const Envelope& hand, bool* at_once);
  void hear_network_now();
  bool collect(LocalReceive& receive);
  bool starves_without_end() const {
    return sends.has_waiting() || transfers_.pipes.lacks_memory() || memory.is_lacking() ||
           matcher.is_cancelling() || cells_.owes_notices() ||
           (transfers_.test_wire != nullptr && !transfers_.test_wire->idle()) ||
           (remote != nullptr && remote->lacks_memory());
  }

  Cells cells_;
  Transitions transitions_;
  Transfers transfers_;
  std::unique_ptr<Remote> remote_;
  std::uint32_t turns_ = 0;
};

inline bool Engine::take_entry(LocalReceive& receive) {
  receive.entry = memory.take_receive();
  receive.over = receive.was_cancelled = receive.directly = false;
  return receive.entry != nullptr;
}

inline bool Engine::finished(LocalReceive& receive) {
  if (!receive.over && (receive.is_private || !collect(receive))) {
    return false;
  }
  if (std::exchange(receive.looks_elsewhere, false)) {
    --looks_elsewhere;
    open_bytes -= receive.capacity;
    may_be_first -= receive.may_be_first ? 1 : 0;
  }
  if (receive.entry != nullptr) {
    memory.release(*receive.entry);
    receive.entry = nullptr;
  }
  return true;
}

/// In this scope the rank looks for a message, which may come from another node if `does`.
class LooksElsewhere {
 public:
  LooksElsewhere(Engine& engine, bool does) : engine_(engine), does_(does) {
    engine_.looks_elsewhere += does_ ? 1 : 0;
  }
  ~LooksElsewhere() { engine_.looks_elsewhere -= does_ ? 1 : 0; }
  LooksElsewhere(const LooksElsewhere&) = delete;
  LooksElsewhere& operator=(const LooksElsewhere&) = delete;

 private:
  Engine& engine_;
  const bool does_;
};

/// What this scope arms is armed for the rank: any thread of it that is awake may move it on. One
/// inside another one changes nothing.
class ArmingForRank : Replaced<bool> {
 public:
  ArmingForRank();
};

}  // namespace meantime::match
