#include "match/engine.h"

#include <algorithm>

namespace meantime::match {

Engine::Engine(Rank& owner, const Typed& types)
    : Ground(owner, types),
      memory(*this, cells_, sends),
      matcher(*this, cells_, transitions_, transfers_),
      sends(*this, cells_, memory, transfers_, matcher),
      cells_(*this, memory),
      transitions_(*this, cells_),
      transfers_(*this, cells_, transitions_, memory) {
  if (net::network() != nullptr) {
    remote_ =
        std::make_unique<Remote>(*this, cells_, transitions_, matcher, sends, *net::network());
    remote = remote_.get();
  }
  constexpr std::size_t most = 1u << 30;
  const auto ranks = static_cast<std::size_t>(owner.world_size);
  const std::size_t node_room =
      std::min<std::size_t>(segment.header().memory, segment.header().limit) / 4;
  limits.rank_credit =
      std::clamp<std::size_t>(std::min(node_room, most) / ranks, 4u << 20, 64u << 20);
  limits.pair_credit = Limits::pair_share(limits.rank_credit, ranks);
  limits.most_credit = std::min(node_room / ranks, most);
}

ArmingForRank::ArmingForRank() : Replaced(self().engine->arms_for_rank, true) {}

void Engine::prepare() {
  const std::size_t begin =
      sizeof(node::Waiter) * (is_thread_rank() ? node::few_waiters : node::waiters_a_page);
  const std::size_t end = is_thread_rank() ? node::start_of_worker : node::start_bytes;
  pool.begin_with(segment.start_of(rank.world_rank) + begin, end - begin);
  memory.prepare();
  transfers_.pipes.prepare();
  if (limits.wire.on) {
    transfers_.test_wire = std::make_unique<TestWire>(*this, transitions_, transfers_.copies);
  }
  matcher.prepare();
  if (remote != nullptr) {
    remote->open();
  }
}

Message* Engine::catch_message(const Envelope& hand, int turns, bool looks_elsewhere,
                               bool* at_once) {
  const bool else_to_do =
      transfers_.attention_waits() || !transfers_.pipes.idle() || sends.has_waiting();
  if (remote != nullptr && looks_elsewhere) [[unlikely]] {
    return else_to_do ? nullptr : catch_message_from_anywhere(hand, at_once);
  }
  return else_to_do ? nullptr : matcher.catch_message(hand, turns, at_once);
}

/// The mailbox alone is not where it will come to.
Message* Engine::catch_message_from_anywhere(const Envelope& hand, bool* at_once) {
  Message* const message = matcher.catch_message(hand, 0, at_once);
  if (message != nullptr || !remote->progress()) {
    return message;
  }
  return matcher.catch_message(hand, 0, at_once);
}

void Engine::receive_probed(LocalReceive& receive, Message& message) {
  receive.looks_elsewhere = false;
  transfers_.join(message, fill_entry(receive, rank.world_rank));
  transfers_.after_match();
}

/// Of one that others may see: whether it is over, and then how it ended.
bool Engine::collect(LocalReceive& receive) {
  if (receive.to_cancel && !matcher.try_to_cancel(receive)) [[unlikely]] {
    return false;
  }
  Receive& entry = *receive.entry;
  const std::uint32_t state = entry.state();
  if (state != done && state != cancelled) {
    return false;  // if it is matched it is on the attention list
  }
  receive.was_cancelled = state == cancelled;
  receive.received = entry.received;
  receive.directly = entry.directly.load(std::memory_order_relaxed) != 0;
  receive.over = true;
  return true;
}

bool Engine::goes_directly(const LocalReceive& receive, int from) const {
  if (receive.over) {
    return receive.directly;
  }
  if (!receive.is_private && receive.entry->state() != posted) {
    return receive.entry->directly.load(std::memory_order_relaxed) != 0;
  }
  const int sender = from != node::no_peer ? from : (rank.world_rank + 1) % rank.world_size;
  if (receive.capacity <= limits.eager || in_one_address_space(sender)) {
    return in_one_address_space(sender) && receive.address != 0;
  }
  return node::can_attach(sender) && !route.expects_two_copies(receive.capacity);
}

int Engine::arm(LocalReceive& receive, node::Waiter& waiter) {
  matcher.publish();
  if (receive.over) {
    return 0;
  }
  return receive.entry->awaited().arm(
             sleep_to_arm(waiter),
             [](std::uint32_t state) { return state != posted && state != copying; })
             ? 1
             : 0;
}

void Engine::disarm(LocalReceive& receive) {
  if (receive.entry != nullptr && !receive.is_private && !receive.over) {
    receive.entry->awaited().disarm();
    matcher.take_back(receive);
  }
}

/// UCX asks the kernel at each look, which takes as long as a message inside a node. So where
/// nothing is awaited from elsewhere it has one turn in some.
bool Engine::is_turn_of_network() {
  constexpr std::uint32_t turns_a_look = 16;
  return waits_for_network() || ++turns_ % turns_a_look == 0;
}

bool Engine::progress() {
  if (box.sleepers.load(std::memory_order_relaxed) != 0) {
    matcher.publish();
  }
  bool moved = remote != nullptr && is_turn_of_network() && remote->progress();
  moved |= matcher.has_mail() && matcher.drain(rank.world_rank);
  moved |= transfers_.progress();
  moved |= sends.progress();
  if (cells_.owes_notices()) [[unlikely]] {
    cells_.send_notices();
    moved |= !cells_.owes_notices();
  }
  if (memory.is_wanting() && !sends.has_waiting() && !memory.is_lacking() &&
      !cells_.owes_notices() && !transfers_.pipes.lacks_memory() &&
      (remote == nullptr || !remote->lacks_memory())) [[unlikely]] {
    memory.end_want();
  }
  if (!moved) {
    let_go();
  }
  return moved;
}

/// Where so much comes that there is always something, or nobody would hear it, no thread of the
/// rank sleeps: the one that fell asleep last, which may be the caller, goes on looking.
void Engine::hear_network_now() {
  constexpr int most_turns = 100;
  for (int turn = 0; !remote->prepare_sleep(); ++turn) {
    if (turn == most_turns) {
      if (const node::SleepLink last = box.sleeper.load(std::memory_order_relaxed); last != 0) {
        wait::ring(wait::waiter_of(last));
      }
      return;
    }
    progress();
  }
}

std::uint64_t Engine::nap_ns() const {
  return sends.awaits_credit() && !starves_without_end() ? sends.check_interval_ns()
                                                         : wait::nap_for_memory_ns;
}

void Engine::come_back() {
  cells_.come_back();
  if (remote != nullptr) {
    remote->open();
    remote->come_back();
  }
}

void Engine::leave() {
  if (remote != nullptr) {
    remote->close();
  }
  memory.end_want();
  cells_.flush();
  sends.orphan_overflowed();
  cells_.leave();
  memory.give_up();
}

}  // namespace meantime::match
