// Room for short messages that lie unread. Other MPIs have it for as many as memory holds, and
// programs count on it: a rank that reports to one that waits for somebody else, and goes on. Here
// a sender waits first, because that bounds memory and keeps what is under way in the caches, and
// the room grows only where the wait would have no end:
//   beyond credit   a short message for which there is no room. Its payload is in its cell like a
//                   synchronous one's, so the user's buffer is free, and the wait is for the room
//                   alone: its sender is patient
//   stuck           a receiver that waits in MPI, or asks in vain, for something else. (One that
//                   computes may read when it is done, and then a sender has waited as it should)
//   kept            its payload, in memory of the sender's own, where there is no shared memory for
//                   it. The sender does not leave MPI before it is read
//   left behind     its send is over though nobody has read it. Its cell comes back as those of
//                   other offers do, by the transfer's state, which only this rank looks at; once
//                   it has left MPI, as those of eager messages
//   room            what may lie in cells, to one rank and in all. Where a receiver is stuck and
//                   reads nothing for limits.patience_ns it becomes twice what lies there now, up
//                   to limits.most_room. Beyond that the payload stays with the user and the send
//                   waits until it is read: then a deadlock is one, and is told

#include <algorithm>

#include "base/clock.h"
#include "deadlock/asking.h"
#include "match/sends.h"

namespace meantime::match {
namespace {

/// A sender looks so seldom at receivers that compute: each look is a wake-up of its CPU.
constexpr std::uint64_t longest_between_looks_ns = 160'000'000;

/// It would have read the message if that were what it waits or asks for. A hint, so nothing is
/// ordered by it: who reads an old state is patient for a look more, or makes room too early.
bool is_stuck(const node::RankArea& receiver, std::uint64_t now_ns) {
  const auto state =
      static_cast<node::RankState>(receiver.report.state.load(std::memory_order_relaxed));
  const std::uint64_t asked_ns = receiver.asking.asked_ns.load(std::memory_order_relaxed);
  return (state != node::RankState::running && state != node::RankState::absent) ||
         (asked_ns != 0 && asked_ns + wait::note_lasts_ns > now_ns);
}

}  // namespace

/// Credit after a search for what has become free.
bool Sends::finds_credit(Peer& to, std::size_t bytes) {
  cells_.take_back();
  gather_first_left_behind(to);
  if (ground_.credit.allows(to, bytes)) {
    return true;
  }
  if (!ground_.credit.room_may_grow(bytes)) {
    // Nobody will be patient, so nobody else looks at those that lie behind an unread one.
    if (const std::uint64_t now = now_ns(); now >= gather_next_ns_) {
      gather_next_ns_ = now + ground_.limits.patience_ns;
      ground_.peers.for_each([this](Peer& other) { gather_left_behind(other); });
    }
  }
  return ground_.credit.allows(to, bytes);
}

/// It is about to be offered, with its payload in its cell.
void Sends::be_patient(LocalSend& send, Peer& to) {
  send.patient_since_ns = now_ns();
  if (patient_++ == 0) {
    between_looks_ns_ = ground_.limits.patience_ns;
    look_at_them_ns_ = send.patient_since_ns + between_looks_ns_;
  }
  ground_.starve(between_looks_ns_);
  ground_.credit.count_in(to, Cells::size_of(*send.message));
}

/// The send is over for who waits for it. What is still to do hangs in memory of the engine's.
void Sends::leave_behind(LocalSend& send, Peer& to) {
  auto* heir = new LocalSend(send);
  heir->contiguous = nullptr;  // the user's again
  heir->patient_since_ns = 0;
  heir->left_behind = true;
  to.offered.erase(send);
  to.left_behind.push_back(*heir);
  kept_ += heir->kept != nullptr ? 1 : 0;
  --to.offers;
  --patient_;
  Transfer& transfer = transfer_of(*send.message);
  transfer.sender = reinterpret_cast<std::uint64_t>(heir);  // read by this rank only
  send.kept.reset();
  send.message = nullptr;
  send.done = true;
  // Another thread of this rank may sleep for it. Whoever delivers reads the waiter with the flag,
  // so exactly one of the two counts it down.
  ground_.bells.ring(transfer.awaited().let_sleeper_go().sleep);
}

/// The cells of those that were read meanwhile, as far as those come first (there may be a
/// million).
void Sends::gather_first_left_behind(Peer& to) {
  while (LocalSend* const send = to.left_behind.front()) {
    if (!reap(*send)) {
      return;
    }
    delete send;
  }
}

void Sends::gather_left_behind(Peer& to) {
  to.left_behind.for_each([this](LocalSend& send) {
    if (reap(send)) {
      delete &send;
    }
  });
}

bool Sends::keeps_payloads() {
  if (kept_ != 0) {
    ground_.peers.for_each([this](Peer& to) { gather_left_behind(to); });
  }
  return kept_ != 0;
}

// Their cells shall come back when this rank does not look any more. It and whoever delivers change
// one word, so exactly one of the two finds that the other was there before, and has the cell.
void Sends::orphan_left_behind() {
  ground_.peers.for_each([this](Peer& to) {
    to.left_behind.for_each([&](LocalSend& send) {
      if (send.kept != nullptr) {
        return;  // nobody is left to read it
      }
      if (transfer_of(*send.message).awaited().add(orphaned) != delivered) {
        to.left_behind.erase(send);  // counted out with its cell, as an eager message
      } else {
        reap(send);
      }
      delete &send;
    });
  });
}

/// True if a send is over by it, or was.
bool Sends::end_patience(Peer& to, std::uint64_t now_ns) {
  const LocalSend* const first = to.offered.front();
  if (first == nullptr) {
    return false;
  }
  const std::uint64_t unread_ns = ground_.credit.unread_since(to, now_ns);
  const bool stuck = is_stuck(ground_.segment.area(first->destination), now_ns);
  bool moved = false;
  bool grows = false;
  to.offered.for_each([&](LocalSend& send) {
    if (send.patient_since_ns == 0) {
      return;
    }
    const bool has_room = ground_.credit.has_room(to);
    const std::uint64_t since = std::max(send.patient_since_ns, unread_ns);
    if (reap(send)) {
      moved = true;
    } else if (has_room || (stuck && now_ns - since >= ground_.limits.patience_ns)) {
      leave_behind(send, to);
      moved = true;
      grows = grows || !has_room;
    }
  });
  if (grows) {
    ground_.credit.grow(to);
  }
  return moved;
}

/// Now and then, while a send is patient. True if one is over by it.
bool Sends::make_room() {
  const std::uint64_t now = now_ns();
  if (now < look_at_them_ns_) {
    return false;
  }
  cells_.take_back();
  bool moved = false;
  ground_.peers.for_each([&](Peer& to) {
    gather_left_behind(to);
    moved |= end_patience(to, now);
  });
  between_looks_ns_ = moved ? ground_.limits.patience_ns
                            : std::min(2 * between_looks_ns_, longest_between_looks_ns);
  look_at_them_ns_ = now + between_looks_ns_;
  return moved;
}

}  // namespace meantime::match
