#include "match/engine.h"

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "node/cross_memory.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::match {

Engine::Engine(Rank& owner, const Typed& typed)
    : rank(owner),
      segment_(node::segment()),
      area_(*owner.area),
      box_(owner.area->mailbox),
      typed_(typed),
      peers_((static_cast<std::size_t>(owner.world_size) + peers_a_block - 1) / peers_a_block) {
  const std::size_t node_credit = std::min<std::size_t>(node_room(), 1u << 30);
  const auto ranks = static_cast<std::size_t>(owner.world_size);
  limits.rank_credit = std::clamp<std::size_t>(node_credit / ranks, 4u << 20, 64u << 20);
  limits.most_room = std::min<std::size_t>(node_room() / ranks, 1u << 30);
}

ArmingForRank::ArmingForRank()
    : arms_for_rank_(self().engine->arms_for_rank), outside_(arms_for_rank_) {
  arms_for_rank_ = true;
}

void Engine::prepare() {
  const std::size_t of_waiters = is_thread_rank() ? 0 : node::start_page;
  pool.begin_with(segment_.start_of(rank.world_rank) + of_waiters,
                  2 * node::start_page - of_waiters);
  const Link place = pool.allocate(sizeof(Queues));
  Queues& queues = *new (segment_.at<void>(place)) Queues{};
  QueueView(queues, pool).prepare();
  for (Link& spare : spare_receives_) {
    spare = pool.allocate(sizeof(Receive));
  }
  spare_receive_count_ = most_spare_receives;
  spare_pipe_ = pool.allocate(spare_pipe_bytes);
  // From here on others may match for this rank. What they pushed before is in the inbox.
  std::uint32_t free_right = 0;
  while (!box_.right.compare_exchange_weak(free_right,
                                           static_cast<std::uint32_t>(rank.world_rank) + 1)) {
    free_right = 0;
  }
  box_.queues = place;
  box_.right.store(0, std::memory_order_seq_cst);
}

Engine::Peer& Engine::peer(int world_rank) {
  const auto index = static_cast<std::size_t>(world_rank);
  std::unique_ptr<PeerBlock>& block = peers_[index / peers_a_block];
  if (block == nullptr) {
    block = std::make_unique<PeerBlock>();
  }
  return (*block)[index % peers_a_block];
}

// --- sending

void Engine::fill_envelope(Message& message, int destination, const Peer& to, std::size_t bytes) {
  message.origin = static_cast<std::uint32_t>(rank.world_rank);
  message.destination = static_cast<std::uint32_t>(destination);
  message.bytes = bytes;
  message.copy_ns = bytes > limits.eager ? 1 : 0;
  if (const Express* ring = to.express; ring != nullptr) {
    message.express_before = ring->pushed;
    message.flags |= behind_express;
  }
}

/// Of a message that is larger than small ones.
bool Engine::goes_through_cell(int destination, std::size_t bytes, bool contiguous) {
  return bytes <= limits.medium &&
         (!contiguous || !node::can_attach(destination) ||
          (!in_one_address_space(destination) && route_.two_copies(bytes)));
}

bool Engine::in_one_address_space(int world_rank) const {
  return is_thread_rank() && node::in_this_host(world_rank);
}

// In order, because all that was pushed before is sorted in first: if a posted receive matches
// then, no earlier message of ours does. As with a rendezvous that its sender moves, the receive is
// out of the queue and `copying`, so it is ours until it is `done`. `posted` is read without an
// order: who reads an old number takes a cell, or the right for nothing.
bool Engine::copy_to_posted(int destination, const Envelope& envelope, const char* payload,
                            std::size_t bytes) {
  node::Mailbox& box = segment_.area(destination).mailbox;
  if (!is_thread_rank() || box.posted.load(std::memory_order_relaxed) == 0 ||
      !node::in_this_host(destination) || !peer(destination).waiting.empty() || !try_right(box)) {
    return false;
  }
  QueueView queues(*segment_.at<Queues>(box.queues), pool);
  empty_inbox(segment_.area(destination), queues);
  Receive* const receive = queues.find_receive(envelope.context, envelope.source, envelope.tag);
  const bool fits =
      receive != nullptr && bytes <= receive->capacity && (receive->address != 0 || bytes == 0);
  if (fits) {
    queues.remove_receive(*receive);
    receive->message = 0;
    receive->matched_source = envelope.source;
    receive->matched_tag = envelope.tag;
    receive->matched_bytes = bytes;
    receive->error = MPI_SUCCESS;
    receive->directly.store(1, std::memory_order_relaxed);
    receive->awaited().add(copying);
  }
  let_go_of_right(box);
  if (fits) {
    if (bytes > 0) {
      std::memcpy(reinterpret_cast<void*>(receive->address), payload, bytes);
    }
    finish(*receive, done);
  }
  // (A process rank may have begun a ring to this one before it was known to be a thread rank.)
  if (!box.inbox.empty(std::memory_order_seq_cst) ||
      (box.sleepers.load(std::memory_order_seq_cst) != 0 &&
       express_waits(segment_.area(destination), std::memory_order_seq_cst))) {
    drain(destination);
  }
  after_drain();
  return fits;
}

Message* Engine::eager_cell(int destination, std::size_t bytes, bool contiguous) {
  Peer& to = peer(destination);
  if (!to.waiting.empty()) [[unlikely]] {
    return nullptr;
  }
  return free_eager_cell(to, destination, bytes, contiguous);
}

inline Message* Engine::free_eager_cell(Peer& to, int destination, std::size_t bytes,
                                        bool contiguous) {
  if (bytes > limits.eager && !goes_through_cell(destination, bytes, contiguous)) {
    return nullptr;
  }
  const std::size_t need = sizeof(Message) + (bytes > tiny_bytes ? bytes : 0);
  if (!has_credit(to, need) && !finds_credit(to, need)) [[unlikely]] {
    if (bytes <= limits.eager && !room_may_grow(bytes)) {
      area_.out_of_credit.store(1, std::memory_order_relaxed);
    }
    return nullptr;
  }
  Message* message = cell(destination, need);
  if (message != nullptr) {
    const std::size_t size = std::size_t{1} << message->size_class;
    to.bytes += size;
    bytes_out_ += size;
    message->kind = ItemKind::eager;
    fill_envelope(*message, destination, to, bytes);
  }
  return message;
}

// Why no message is overlooked. The push and the look at `sleepers` are sequentially consistent, as
// are a sleeper's count-in and its last look at the inbox: one of the two sees the other. If a
// holder of the right keeps us from matching, it looks at the inbox again after its release, which
// is ordered after our failed compare-and-swap and so after our push.
void Engine::push(Message& message) {
  if (message.kind == ItemKind::eager && push_cell_express(message)) {
    return;
  }
  const auto destination = static_cast<int>(message.destination);
  node::Mailbox& box = segment_.area(destination).mailbox;
  const Link link = segment_.link(&message);
  const bool offer = message.kind == ItemKind::rendezvous;
  box.inbox.push(link, message.next);
  // One that is awake in MPI empties its inbox itself. One that computes does so at its next call,
  // unless there is a large payload that could be moved meanwhile. For one that sleeps we match, so
  // that it is woken only by what it waits for.
  if (box.sleepers.load(std::memory_order_seq_cst) != 0 ||
      (offer &&
       (box.pollers.load(std::memory_order_relaxed) == 0 || limits.wire.interface_answers))) {
    drain(destination);
    after_drain();
  }
}

bool Engine::offer(LocalSend& send, Peer& to) {
  const bool is_short = send.bytes <= limits.eager;
  const bool patient = is_short && !send.synchronous && room_may_grow(send.bytes);
  bool carried = send.bytes <= (send.synchronous || patient ? limits.eager : tiny_bytes);
  Message* message = cell(send.destination, offer_bytes(carried ? send.bytes : 0));
  if (message == nullptr && carried && send.bytes > tiny_bytes) {
    carried = false;
    message = cell(send.destination, offer_bytes(0));
  }
  if (message == nullptr) {
    return false;
  }
  if (patient && !carried) {
    send.kept = std::make_shared_for_overwrite<char[]>(send.bytes);
    typed_.pack(send, 0, send.kept.get(), send.bytes);
    send.contiguous = send.kept.get();
  }
  message->kind = carried ? ItemKind::synchronous : ItemKind::rendezvous;
  message->context = send.context;
  message->source = send.source;
  message->tag = send.tag;
  fill_envelope(*message, send.destination, to, send.bytes);
  Transfer& transfer = *new (&transfer_of(*message)) Transfer{};
  transfer.sender = reinterpret_cast<std::uint64_t>(&send);
  if (carried) {
    typed_.pack(send, 0, payload_of(*message), send.bytes);
  } else if (send.contiguous != nullptr && node::can_attach(send.destination)) {
    transfer.source_address = reinterpret_cast<std::uint64_t>(send.contiguous);
  }
  message->flags |= send.blocking ? blocking : 0;
  if (limits.wire.on) [[unlikely]] {
    transfer.due_ns = now_ns() + limits.wire.latency_ns;
  }
  send.message = message;
  ++to.offers;
  to.offered.push_back(send);
  if (patient) {
    be_patient(send, to);
  }
  push(*message);
  if (limits.wire.on) [[unlikely]] {
    help_neighbours();
  }
  return true;
}

int Engine::start(LocalSend& send) {
  Peer& to = peer(send.destination);
  if (to.waiting.empty() && to.offers < limits.pair_offers && offer(send, to)) {
    if (limits.wire.on) [[unlikely]] {
      progress();  // an interface may have answered within this call
    }
    return MPI_SUCCESS;
  }
  to.waiting.push_back(send);
  ++deferred_;
  return MPI_SUCCESS;
}

/// A small cell is there again where there is no room for an offer, perhaps, or for ever.
bool Engine::send_in_cell(LocalSend& send, Peer& to) {
  Message* const message = send.synchronous ? nullptr
                                            : free_eager_cell(to, send.destination, send.bytes,
                                                              send.contiguous != nullptr);
  if (message == nullptr) {
    return false;
  }
  message->context = send.context;
  message->source = send.source;
  message->tag = send.tag;
  const Stopwatch stopwatch(message->copy_ns != 0);
  if (send.bytes > 0) {
    typed_.pack(send, 0, payload_of(*message), send.bytes);
  }
  note_copy(*message, stopwatch);
  send.done = true;  // who waits for it naps (starving)
  push(*message);
  return true;
}

bool Engine::send_deferred() {
  bool moved = false;
  for_each_peer([&](Peer& to) {
    // Room comes from earlier offers that are over, whether or not their owner has asked yet.
    while (!to.waiting.empty() && !to.offered.empty() && reap(*to.offered.front())) {
    }
    while (!to.waiting.empty()) {
      LocalSend* send = to.waiting.front();
      to.waiting.erase(*send);
      --deferred_;
      if (!send_in_cell(*send, to) && (to.offers >= limits.pair_offers || !offer(*send, to))) {
        to.waiting.push_front(*send);
        ++deferred_;
        break;
      }
      moved = true;
    }
  });
  return moved;
}

bool Engine::finished(LocalSend& send) {
  return send.done || (send.message != nullptr && reap(send));
}

bool Engine::goes_directly(const LocalSend& send) const {
  if (send.done) {
    return send.directly;
  }
  if (send.message == nullptr) {
    return send.contiguous != nullptr && node::can_attach(send.destination) &&
           send.bytes > (send.synchronous ? limits.eager : tiny_bytes);
  }
  const Transfer& transfer = transfer_of(*send.message);
  const std::uint32_t piped = transfer.piped.load(std::memory_order_relaxed);
  return transfer.source_address != 0 && (piped == not_piped || piped == by_wire);
}

/// If the send is over: its cell is free again, its peer has room for another.
bool Engine::reap(LocalSend& send) {
  Message& message = *send.message;
  Transfer& transfer = transfer_of(message);
  if (transfer.state() != delivered) {
    return false;
  }
  if ((message.flags & noticed) != 0 && !send.attended) {
    attend();  // off the list before the cell is used again
  }
  if (transfer.error.load(std::memory_order_relaxed) != 0) {
    send.error = MPI_ERR_BUFFER;
  }
  if (const std::uint32_t took = transfer.copy_ns.load(std::memory_order_relaxed);
      took != 0 && transfer.bytes == message.bytes && message.bytes <= limits.medium &&
      !in_one_address_space(send.destination)) {
    route_.one_copy_took(message.bytes, took);
  }
  if (transfer.pipe != 0) {  // else it went back already, with the place among pipes_out_
    release_pipe(transfer);
    std::erase(pipes_out_, &message);
  }
  if (area_.out_of_credit.load(std::memory_order_relaxed) != 0) {
    area_.out_of_credit.store(0, std::memory_order_relaxed);
  }
  send.directly = goes_directly(send);
  Peer& to = peer(send.destination);
  if (send.patient_since_ns != 0 || send.left_behind) {
    count_out(to, std::size_t{1} << message.size_class);
  }
  if (send.left_behind) {
    kept_ -= send.kept != nullptr ? 1 : 0;
    to.left_behind.erase(send);
  } else {
    to.offered.erase(send);
    --to.offers;
    patient_ -= send.patient_since_ns != 0 ? 1 : 0;
  }
  message.next.store(free_cells_[message.size_class], std::memory_order_relaxed);
  free_cells_[message.size_class] = segment_.link(&message);
  send.kept.reset();
  send.message = nullptr;
  send.done = true;
  return true;
}

node::SleepLink Engine::sleep_to_arm(const node::Waiter& waiter) const {
  return wait::sleep_of(waiter) | (arms_for_rank ? node::for_the_rank : 0);
}

// A send that waits for credit has nothing that could be armed: its rank only naps (starving()).
int Engine::arm(LocalSend& send, node::Waiter& waiter) {
  if (send.message == nullptr) {
    return send.done ? 0 : 1;
  }
  Transfer& transfer = transfer_of(*send.message);
  return transfer.awaited().arm(sleep_to_arm(waiter),
                                [](std::uint32_t state) { return state == delivered; })
             ? 1
             : 0;
}

void Engine::disarm(LocalSend& send) {
  if (send.message != nullptr) {
    transfer_of(*send.message).awaited().disarm();
  }
}

// --- receiving

Receive* Engine::new_receive(LocalReceive& local, std::uint32_t context, std::int32_t source,
                             std::int32_t tag, std::uint64_t address, std::uint64_t capacity) {
  Link place = pool.allocate(sizeof(Receive));
  if (place == 0) [[unlikely]] {
    place = spare_receive_count_ != 0 ? spare_receives_[--spare_receive_count_]
                                      : find_memory(sizeof(Receive));
    if (place == 0) {
      return nullptr;
    }
  }
  auto* receive = segment_.at<Receive>(place);
  receive->kind = ItemKind::posted;
  receive->flags = 0;
  receive->context = context;
  receive->source = source;
  receive->tag = tag;
  receive->owner = static_cast<std::uint32_t>(rank.world_rank);
  receive->word.store(posted, std::memory_order_relaxed);
  receive->request = reinterpret_cast<std::uint64_t>(&local);
  receive->address = address;
  receive->capacity = capacity;
  receive->message = 0;
  receive->error = MPI_SUCCESS;
  receive->directly.store(0, std::memory_order_relaxed);
  local.entry = receive;
  return receive;
}

void Engine::release(Receive& receive) {
  const Link place = segment_.link(&receive);
  if (spare_receive_count_ < most_spare_receives) [[unlikely]] {
    spare_receives_[spare_receive_count_++] = place;
    return;
  }
  pool.release(place, sizeof(Receive));
}

void Engine::post(Receive& receive) {
  drain(rank.world_rank, &receive);
  after_drain();
}

void Engine::receive_probed(Receive& receive, Message& message) {
  join(message, receive);
  after_drain();
}

bool Engine::finished(Receive& receive) {
  if (cancels_ != 0) [[unlikely]] {
    try_to_cancel(receive);
  }
  const std::uint32_t state = receive.state();
  if (state == matched) {
    auto* message = segment_.at<Message>(receive.message);
    if (message->kind == ItemKind::eager) {
      deliver_eager(*message, receive);
      return true;
    }
    return false;  // it is on the attention list
  }
  return state == done || state == cancelled;
}

bool Engine::goes_directly(const Receive& receive, int from) const {
  if (receive.state() != posted) {
    return receive.directly.load(std::memory_order_relaxed) != 0;
  }
  const int sender = from != node::no_peer ? from : (rank.world_rank + 1) % rank.world_size;
  if (receive.capacity <= limits.eager || in_one_address_space(sender)) {
    return in_one_address_space(sender) && receive.address != 0;
  }
  return node::can_attach(sender) && !route_.expects_two_copies(receive.capacity);
}

int Engine::arm(Receive& receive, node::Waiter& waiter) {
  return receive.awaited().arm(
             sleep_to_arm(waiter),
             [](std::uint32_t state) { return state != posted && state != copying; })
             ? 1
             : 0;
}

void Engine::disarm(Receive& receive) {
  receive.awaited().disarm();
}

}  // namespace meantime::match
