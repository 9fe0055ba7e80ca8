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
#include <bit>

#include "base/clock.h"
#include "deadlock/asking.h"
#include "match/engine.h"
#include "wait/park.h"

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

/// What such a message takes of it: its cell.
std::size_t room_for(std::size_t bytes) {
  return std::bit_ceil(offer_bytes(bytes));
}

}  // namespace

std::size_t Engine::node_room() const {
  return std::min<std::size_t>(segment_.header().memory, segment_.header().limit) / 4;
}

/// The same after a search for what has become free.
bool Engine::finds_credit(Peer& to, std::size_t bytes) {
  take_back_cells();
  gather_first_left_behind(to);
  if (has_credit(to, bytes)) {
    return true;
  }
  if (!room_may_grow(bytes)) {
    // Nobody will be patient, so nobody else looks at those that lie behind an unread one.
    if (const std::uint64_t now = now_ns(); now >= gather_next_ns_) {
      gather_next_ns_ = now + limits.patience_ns;
      for_each_peer([this](Peer& other) { gather_left_behind(other); });
    }
  }
  return has_credit(to, bytes);
}

/// Whether a short message's payload may lie in its cell beyond the credit.
bool Engine::room_may_grow(std::size_t bytes) const {
  return bytes_out_ + room_for(bytes) <= limits.most_room;
}

/// It is about to be offered, with its payload in its cell.
void Engine::be_patient(LocalSend& send, Peer& to) {
  send.patient_since_ns = now_ns();
  if (patient_++ == 0) {
    between_looks_ns_ = limits.patience_ns;
    look_at_them_ns_ = send.patient_since_ns + between_looks_ns_;
  }
  rank.starving = true;  // also if it has armed already, and only looks once more before it sleeps
  rank.nap_ns = between_looks_ns_;
  const std::size_t size = std::size_t{1} << send.message->size_class;
  to.bytes += size;
  bytes_out_ += size;
}

/// The send is over for who waits for it. What is still to do hangs in memory of the engine's.
void Engine::leave_behind(LocalSend& send, Peer& to) {
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
  wake(transfer.awaited().let_sleeper_go().sleep);
}

/// The cells of those that were read meanwhile, as far as those come first (there may be a
/// million).
void Engine::gather_first_left_behind(Peer& to) {
  while (LocalSend* const send = to.left_behind.front()) {
    if (!reap(*send)) {
      return;
    }
    delete send;
  }
}

void Engine::gather_left_behind(Peer& to) {
  for (LocalSend* send = to.left_behind.front(); send != nullptr;) {
    LocalSend* const next = send->next;
    if (reap(*send)) {
      delete send;
    }
    send = next;
  }
}

bool Engine::keeps_payloads() {
  if (kept_ != 0) {
    for_each_peer([this](Peer& to) { gather_left_behind(to); });
  }
  return kept_ != 0;
}

// Their cells shall come back when this rank does not look any more. It and whoever delivers change
// one word, so exactly one of the two finds that the other was there before, and has the cell.
void Engine::orphan_left_behind() {
  for_each_peer([this](Peer& to) {
    for (LocalSend* send = to.left_behind.front(); send != nullptr;) {
      LocalSend* const next = send->next;
      if (send->kept == nullptr) {  // else nobody is left to read it
        Transfer& transfer = transfer_of(*send->message);
        if (transfer.awaited().add(orphaned) != delivered) {
          to.left_behind.erase(*send);  // counted out with its cell, as an eager message
        } else {
          reap(*send);
        }
        delete send;
      }
      send = next;
    }
  });
}

void Engine::forget_left_behind() {
  for_each_peer([](Peer& to) {
    while (LocalSend* const send = to.left_behind.front()) {
      to.left_behind.erase(*send);
      delete send;
    }
  });
}

/// True if a send is over by it, or was.
bool Engine::end_patience(Peer& to, std::uint64_t now_ns) {
  LocalSend* send = to.offered.front();
  if (send == nullptr) {
    return false;
  }
  if (to.bytes < to.bytes_at_look) {
    to.read_ns = now_ns;
  }
  to.bytes_at_look = to.bytes;
  const bool stuck = is_stuck(segment_.area(send->destination), now_ns);
  bool moved = false;
  bool grows = false;
  while (send != nullptr) {
    LocalSend* const next = send->next;
    if (send->patient_since_ns != 0) {
      const bool has_room = to.bytes <= room_at(to) && bytes_out_ <= room_everywhere();
      const std::uint64_t since = std::max(send->patient_since_ns, to.read_ns);
      if (reap(*send)) {
        moved = true;
      } else if (has_room || (stuck && now_ns - since >= limits.patience_ns)) {
        leave_behind(*send, to);
        moved = true;
        grows = grows || !has_room;
      }
    }
    send = next;
  }
  if (grows && to.bytes > room_at(to)) {
    to.room = std::min(2 * to.bytes, limits.most_room);
  }
  if (grows && bytes_out_ > room_everywhere()) {
    room_ = std::min(2 * bytes_out_, limits.most_room);
  }
  return moved;
}

/// Now and then, while a send is patient. True if one is over by it.
bool Engine::make_room() {
  if (patient_ == 0) {
    return false;
  }
  const std::uint64_t now = now_ns();
  if (now < look_at_them_ns_) {
    return false;
  }
  take_back_cells();
  bool moved = false;
  for_each_peer([&](Peer& to) {
    gather_left_behind(to);
    moved |= end_patience(to, now);
  });
  between_looks_ns_ =
      moved ? limits.patience_ns : std::min(2 * between_looks_ns_, longest_between_looks_ns);
  look_at_them_ns_ = now + between_looks_ns_;
  return moved;
}

std::uint64_t Engine::nap_ns() const {
  const bool for_memory =
      deferred_ != 0 || no_pipe_ || steps_on_wire_ != 0 || cancels_ != 0 || lacking_ != 0;
  return patient_ != 0 && !for_memory ? between_looks_ns_ : wait::nap_for_memory_ns;
}

}  // namespace meantime::match
