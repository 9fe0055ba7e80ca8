// Short messages beyond the credit. Other MPIs take as many unread ones as memory holds, and
// programs count on it: a rank that reports to one that waits for somebody else, and goes on. Here
// a sender waits first, because that bounds memory and keeps what is under way in the caches, and
// the credit grows only where the wait would have no end:
//   beyond credit   a short message for which there is none. Its payload is in its cell like a
//                   synchronous one's, so the user's buffer is free, and its sender waits for the
//                   credit alone
//   stuck           a receiver that waits in MPI, or tests in vain, for something else. (One that
//                   computes may read when it is done, and then a sender has waited as it should)
//   overflowed      its send is over though nobody has read it. Its cell comes back as those of
//                   other offers do, by the transfer's state, which only this rank looks at; once
//                   it has left MPI, as those of eager messages
//   growth          of the credit, to one rank and in all: where a receiver is stuck and reads
//                   nothing for limits.overflow_after_ns it becomes twice what lies there now, up
//                   to limits.most_credit. Beyond that the payload stays with the user and the send
//                   waits until it is read: then a deadlock is one, and is told

#include <algorithm>

#include "base/clock.h"
#include "deadlock/test_loop_note.h"
#include "match/sends.h"

namespace meantime::match {
namespace {

/// Receivers that compute are checked so seldom: each check is a wake-up of the CPU.
constexpr std::uint64_t longest_check_interval_ns = 160'000'000;

/// It would have read the message if that were what it waits or tests for. A hint, so nothing is
/// ordered by it: who reads an old state waits for a check more, or overflows too early.
bool is_stuck(const node::RankArea& receiver, std::uint64_t now_ns) {
  const auto state =
      static_cast<node::RankState>(receiver.report.state.load(std::memory_order_relaxed));
  const std::uint64_t noted_ns = receiver.test_loop.noted_ns.load(std::memory_order_relaxed);
  return (state != node::RankState::running && state != node::RankState::absent) ||
         (noted_ns != 0 && noted_ns + wait::note_lasts_ns > now_ns);
}

}  // namespace

/// Credit after a search for what has become free.
bool Sends::finds_credit(Peer& to, std::size_t bytes) {
  cells_.take_back();
  gather_first_overflowed(to);
  if (ground_.credit.allows(to, bytes)) {
    return true;
  }
  if (!ground_.credit.may_overflow(bytes)) {
    // Nobody will wait for credit, so nobody else looks at those that lie behind an unread one.
    if (const std::uint64_t now = now_ns(); now >= gather_next_ns_) {
      gather_next_ns_ = now + ground_.limits.overflow_after_ns;
      ground_.peers.for_each([this](Peer& other) { gather_overflowed(other); });
    }
  }
  return ground_.credit.allows(to, bytes);
}

/// It is about to be offered, with its payload in its cell.
void Sends::await_credit(LocalSend& send, Peer& to) {
  send.awaits_credit_since_ns = now_ns();
  if (awaiting_credit_++ == 0) {
    check_interval_ns_ = ground_.limits.overflow_after_ns;
    next_check_ns_ = send.awaits_credit_since_ns + check_interval_ns_;
  }
  ground_.starve(check_interval_ns_);
  ground_.credit.count_in(to, Cells::size_of(*send.message));
}

/// The send is over for who waits for it. What is still to do hangs in memory of the engine's.
void Sends::overflow(LocalSend& send, Peer& to) {
  auto* heir = new LocalSend(send);
  heir->contiguous = nullptr;  // the user's again
  heir->awaits_credit_since_ns = 0;
  heir->overflowed = true;
  to.offered.erase(send);
  to.overflowed.push_back(*heir);
  --to.offers;
  --awaiting_credit_;
  Transfer& transfer = transfer_of(*send.message);
  transfer.sender = reinterpret_cast<std::uint64_t>(heir);  // read by this rank only
  send.message = nullptr;
  send.done = true;
  // Another thread of this rank may sleep for it. Whoever delivers reads the waiter with the flag,
  // so exactly one of the two counts it down.
  ground_.bells.ring(transfer.awaited().let_sleeper_go().sleep);
}

/// The cells of those that were read meanwhile, as far as those come first (there may be a
/// million).
void Sends::gather_first_overflowed(Peer& to) {
  for (LocalSend* send = to.overflowed.front(); send != nullptr && reap(*send);) {
    LocalSend* const next = send->next;
    to.overflowed.erase(*send);
    delete send;
    send = next;
  }
}

void Sends::gather_overflowed(Peer& to) {
  to.overflowed.for_each([&](LocalSend& send) {
    if (reap(send)) {
      to.overflowed.erase(send);
      delete &send;
    }
  });
}

// Their cells shall come back when this rank does not look any more. It and whoever delivers change
// one word, so exactly one of the two finds that the other was there before, and has the cell.
void Sends::orphan_overflowed() {
  ground_.peers.for_each([this](Peer& to) {
    to.overflowed.for_each([&](LocalSend& send) {
      if (transfer_of(*send.message).awaited().add(orphaned) == delivered) {
        reap(send);
      }  // else it is counted out with its cell, as an eager message
      to.overflowed.erase(send);
      delete &send;
    });
  });
}

/// True if a send is over by it, or was.
bool Sends::overflow_or_end(Peer& to, std::uint64_t now_ns) {
  const LocalSend* const first = to.offered.front();
  if (first == nullptr) {
    return false;
  }
  const std::uint64_t unread_ns = ground_.credit.unread_since(to, now_ns);
  const bool stuck = is_stuck(ground_.segment.area(first->destination), now_ns);
  bool moved = false;
  bool grows = false;
  to.offered.for_each([&](LocalSend& send) {
    if (send.awaits_credit_since_ns == 0) {
      return;
    }
    const bool fits = ground_.credit.is_within_credit(to);
    const std::uint64_t since = std::max(send.awaits_credit_since_ns, unread_ns);
    if (reap(send)) {
      moved = true;
    } else if (fits || (stuck && now_ns - since >= ground_.limits.overflow_after_ns)) {
      overflow(send, to);
      moved = true;
      grows = grows || !fits;
    }
  });
  if (grows) {
    ground_.credit.grow(to);
  }
  return moved;
}

/// Now and then, while a send waits for credit. True if one is over by it.
bool Sends::check_credit() {
  const std::uint64_t now = now_ns();
  if (now < next_check_ns_) {
    return false;
  }
  cells_.take_back();
  bool moved = false;
  ground_.peers.for_each([&](Peer& to) {
    gather_overflowed(to);
    moved |= overflow_or_end(to, now);
  });
  check_interval_ns_ = moved ? ground_.limits.overflow_after_ns
                             : std::min(2 * check_interval_ns_, longest_check_interval_ns);
  next_check_ns_ = now + check_interval_ns_;
  return moved;
}

}  // namespace meantime::match
