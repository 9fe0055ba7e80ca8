#include "match/sends.h"

#include <mpi.h>

#include "base/clock.h"
#include "match/ways/remote.h"
#include "node/cross_memory.h"

namespace meantime::match {
namespace {

/// Up to this a message's own cell is no larger than that of an offer.
constexpr std::size_t least_cell_payload = offer_bytes(0) - sizeof(Message);

}  // namespace

void Sends::fill_envelope(Message& message, int destination, const Peer& to, std::size_t bytes) {
  message.origin = static_cast<std::uint32_t>(ground_.rank.world_rank);
  message.destination = static_cast<std::uint32_t>(destination);
  message.bytes = bytes;
  message.copy_ns = bytes > ground_.limits.eager ? 1 : 0;
  if (const EagerRing* ring = to.ring; ring != nullptr) {
    message.ring_before = ring->pushed;
    message.flags |= behind_ring;
  }
}

/// Of a message that is larger than small ones.
bool Sends::goes_through_cell(int destination, std::size_t bytes, bool contiguous) {
  return bytes <= ground_.limits.medium &&
         (!contiguous || !node::can_attach(destination) ||
          (!ground_.in_one_address_space(destination) && ground_.route.two_copies(bytes)));
}

// Who reads an old `posted` takes a cell, or the match lock for nothing.
bool Sends::copy_to_posted(int destination, const Envelope& envelope, const char* payload,
                           std::size_t bytes) {
  if (!ground_.is_thread_rank() ||
      ground_.segment.area(destination).mailbox.posted.load(std::memory_order_relaxed) == 0 ||
      !node::in_this_host(destination) || !ground_.peers[destination].waiting.empty()) {
    return false;
  }
  return matcher_.copy_to_posted(destination, envelope, payload, bytes);
}

Message* Sends::eager_cell(int destination, std::size_t bytes, bool contiguous) {
  Peer& to = ground_.peers[destination];
  if (to.elsewhere || !to.waiting.empty()) [[unlikely]] {
    return nullptr;
  }
  return free_eager_cell(to, destination, bytes, contiguous);
}

inline Message* Sends::free_eager_cell(Peer& to, int destination, std::size_t bytes,
                                       bool contiguous) {
  if (bytes > ground_.limits.eager && !goes_through_cell(destination, bytes, contiguous)) {
    return nullptr;
  }
  const std::size_t need = sizeof(Message) + (bytes > tiny_bytes ? bytes : 0);
  if (!ground_.credit.allows(to, need) && !finds_credit(to, need)) [[unlikely]] {
    if (bytes <= ground_.limits.eager && !ground_.credit.may_overflow(bytes)) {
      ground_.area.out_of_credit.store(1, std::memory_order_relaxed);
    }
    return nullptr;
  }
  Message* message = cells_.find(destination, need);
  if (message != nullptr) {
    ground_.credit.count_in(to, Cells::size_of(*message));
    message->kind = ItemKind::eager;
    fill_envelope(*message, destination, to, bytes);
  }
  return message;
}

bool Sends::offer(LocalSend& send, Peer& to) {
  const bool is_short = send.bytes <= ground_.limits.eager;
  const bool can_be_fetched = send.contiguous != nullptr && node::can_attach(send.destination);
  // While memory is scarce a short one waits for its cell, for what lies unread is spilled. But the
  // memory that comes back may be in small pieces for good: so one goes without, if its sender can
  // go on meanwhile or somebody can fetch it.
  const bool scarce = ground_.segment.header().wanting.load(std::memory_order_relaxed) != 0;
  bool lacks_cell = scarce && is_short && !send.synchronous;
  if (lacks_cell && (without_cell_ != nullptr || (send.blocking && !can_be_fetched) ||
                     send.bytes <= least_cell_payload)) [[unlikely]] {
    return false;
  }
  const bool may_overflow =
      is_short && !send.synchronous && !scarce && ground_.credit.may_overflow(send.bytes);
  const bool may_be_carried = (send.synchronous && !(scarce && can_be_fetched)) || may_overflow;
  bool carried = send.bytes <= (may_be_carried ? ground_.limits.eager : tiny_bytes);
  Message* message = cells_.find(send.destination, offer_bytes(carried ? send.bytes : 0));
  if (message == nullptr && carried && send.synchronous && send.bytes > tiny_bytes &&
      (can_be_fetched || without_cell_ == nullptr)) {
    carried = false;
    lacks_cell = !can_be_fetched;
    message = cells_.find(send.destination, offer_bytes(0));
  }
  if (message == nullptr) {
    return false;
  }
  message->kind = carried ? ItemKind::synchronous : ItemKind::rendezvous;
  message->envelope() = send;
  fill_envelope(*message, send.destination, to, send.bytes);
  Transfer& transfer = *new (&transfer_of(*message)) Transfer{};
  transfer.sender = reinterpret_cast<std::uint64_t>(&send);
  if (carried) {
    ground_.typed.pack(send, 0, payload_of(*message), send.bytes);
  } else if (can_be_fetched) {
    transfer.copy.source_address = reinterpret_cast<std::uint64_t>(send.contiguous);
  }
  message->flags |= send.blocking ? blocking : 0;
  message->flags |= send.synchronous ? until_matched : 0;
  if (transfers_.test_wire != nullptr) [[unlikely]] {
    transfers_.test_wire->offer(transfer);
  }
  send.message = message;
  without_cell_ = lacks_cell ? &send : without_cell_;
  ++to.offers;
  to.offered.push_back(send);
  if (may_overflow) {
    await_credit(send, to);
  }
  matcher_.push(*message);
  return true;
}

bool Sends::send_or_offer(LocalSend& send, Peer& to) {
  return to.elsewhere ? ground_.remote->send(send, to)
                      : ground_.credit.allows_offer(to) && offer(send, to);
}

int Sends::start(LocalSend& send) {
  Peer& to = ground_.peers[send.destination];
  if (to.waiting.empty() && send_or_offer(send, to)) {
    if (transfers_.test_wire != nullptr) [[unlikely]] {
      transfers_.test_wire->take_what_arrived();
    }
    return MPI_SUCCESS;
  }
  to.waiting.push_back(send);
  ++waiting_;
  return MPI_SUCCESS;
}

/// A small cell is there again where there is no memory for an offer, perhaps, or for ever.
bool Sends::send_in_cell(LocalSend& send, Peer& to) {
  Message* const message = send.synchronous ? nullptr
                                            : free_eager_cell(to, send.destination, send.bytes,
                                                              send.contiguous != nullptr);
  if (message == nullptr) {
    return false;
  }
  message->envelope() = send;
  const Stopwatch stopwatch(message->copy_ns != 0);
  if (send.bytes > 0) {
    ground_.typed.pack(send, 0, payload_of(*message), send.bytes);
  }
  note_copy(*message, stopwatch);
  send.done = true;  // who waits for it naps (starving)
  push(*message);
  return true;
}

bool Sends::send_waiting() {
  bool moved = false;
  ground_.peers.for_each([&](Peer& to) {
    // Room comes from earlier offers that are over, whether or not their owner has asked yet.
    while (!to.waiting.empty() && !to.offered.empty() && reap(*to.offered.front())) {
    }
    while (!to.waiting.empty()) {
      LocalSend* send = to.waiting.front();
      to.waiting.erase(*send);
      --waiting_;
      if ((to.elsewhere || !send_in_cell(*send, to)) && !send_or_offer(*send, to)) {
        to.waiting.push_front(*send);
        ++waiting_;
        break;
      }
      moved = true;
    }
  });
  return moved;
}

bool Sends::goes_directly(const LocalSend& send) const {
  if (send.done) {
    return send.directly;
  }
  if (send.message == nullptr) {
    return send.contiguous != nullptr && node::can_attach(send.destination) &&
           send.bytes > (send.synchronous ? ground_.limits.eager : tiny_bytes);
  }
  const Transfer& transfer = transfer_of(*send.message);
  const std::uint32_t piped = transfer.piped.load(std::memory_order_relaxed);
  return transfer.copy.source_address != 0 && (piped == not_piped || piped == by_wire);
}

/// If the send is over: its cell is free again, its peer may get another.
bool Sends::reap(LocalSend& send) {
  Message& message = *send.message;
  Transfer& transfer = transfer_of(message);
  if (const std::uint32_t state = transfer.state(); state != delivered) {
    if (state == fetched) [[unlikely]] {
      take_cell_back(send);
    }
    return false;
  }
  if ((message.flags & noticed) != 0 && !send.attended) {
    transfers_.attend();  // off the list before the cell is used again
  }
  if (transfer.copy.error.load(std::memory_order_relaxed) != 0) {
    send.error = MPI_ERR_BUFFER;
  }
  if (const std::uint32_t took = transfer.copy.took_ns.load(std::memory_order_relaxed);
      took != 0 && transfer.copy.bytes == message.bytes && message.bytes <= ground_.limits.medium &&
      !ground_.in_one_address_space(send.destination)) {
    ground_.route.one_copy_took(message.bytes, took);
  }
  transfers_.pipes.forget(message);
  if (ground_.area.out_of_credit.load(std::memory_order_relaxed) != 0) {
    ground_.area.out_of_credit.store(0, std::memory_order_relaxed);
  }
  send.directly = goes_directly(send);
  Peer& to = ground_.peers[send.destination];
  if (send.awaits_credit_since_ns != 0 || send.overflowed) {
    ground_.credit.count_out(to, Cells::size_of(message));
  }
  if (!send.overflowed) {
    to.offered.erase(send);
    --to.offers;
    awaiting_credit_ -= send.awaits_credit_since_ns != 0 ? 1 : 0;
    without_cell_ = without_cell_ == &send ? nullptr : without_cell_;
  }
  cells_.add(message);
  send.message = nullptr;
  send.done = true;
  return true;
}

/// Its receiver has copied it out of the segment, and will say when there is a match.
void Sends::take_cell_back(LocalSend& send) {
  Peer& to = ground_.peers[send.destination];
  to.offered.erase(send);
  --to.offers;
  cells_.add(*send.message);
  send.message = nullptr;
}

bool Sends::end_fetched(LocalSend& send) {
  return send.done = send.message == nullptr;
}

void Sends::reap_all() {
  if (transfers_.pipes.is_moving()) {
    return;  // reaping may copy, and begin with a pipe
  }
  ground_.peers.for_each([this](Peer& to) {
    gather_overflowed(to);
    to.offered.for_each([this](LocalSend& send) { reap(send); });
  });
}

bool Sends::go_on() {
  const bool found = awaiting_credit_ != 0 && check_credit();
  return (waiting_ != 0 && send_waiting()) || found;
}

// A send that waits for credit has nothing that could be armed: its rank only naps (starving()).
int Sends::arm(LocalSend& send, node::Waiter& waiter) {
  if (send.message == nullptr) {
    if (send.done || send.matched) {
      return 0;
    }
    send.sleep = ground_.sleep_to_arm(waiter);
    return 1;
  }
  Transfer& transfer = transfer_of(*send.message);
  return transfer.awaited().arm(
             ground_.sleep_to_arm(waiter),
             [](std::uint32_t state) { return state == delivered || state == fetched; })
             ? 1
             : 0;
}

void Sends::disarm(LocalSend& send) {
  send.sleep = 0;
  if (send.message != nullptr) {
    transfer_of(*send.message).awaited().disarm();
  }
}

}  // namespace meantime::match
