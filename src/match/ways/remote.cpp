#include "match/ways/remote.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "ledger/layout.h"
#include "match/engine.h"
#include "match/matcher.h"
#include "match/sends.h"
#include "match/ways/remote_operations.h"
#include "net/outside_of_rank.h"
#include "scheduling/worker.h"
#include "sleep/ear.h"

namespace meantime::match {
namespace {

/// So much credit is owed, if its sender has as much as usual, before it is returned for its own
/// sake, in a message that nobody waits for. (What it lacks it offers.)
constexpr std::size_t most_owed = 64 * 1024;

}  // namespace

void (*Remote::give_up)(int world_rank, const char* problem) = nullptr;

Remote::Remote(Ground& ground, Cells& cells, Transitions& transitions, Matcher& matcher,
               Sends& sends, net::Network& network)
    : ground_(ground),
      traffic_(ground.area.traffic),
      cells_(cells),
      transitions_(transitions),
      matcher_(matcher),
      sends_(sends),
      network_(network) {}

Remote::~Remote() {
  close();
}

void Remote::open() {
  network_.take_for(ground_.rank.world_rank, *this);
}

void Remote::close() {
  network_.take_no_more_for(ground_.rank.world_rank);
}

bool Remote::try_enter() {
  if (!ground_.rank.lock.is_taken() || !ground_.rank.lock.try_lock()) {
    return false;
  }
  before_entry_ = moved_;
  return true;
}

/// The rank's worker is on another NUMA node than the caller.
bool Remote::is_far() const {
  const node::Link link = ground_.area.worker.load(std::memory_order_relaxed);
  const std::uint32_t there =
      link == 0
          ? 0
          : ground_.segment.at<node::WorkerPlace>(link)->numa_node.load(std::memory_order_relaxed);
  unsigned here = 0;
  return there != 0 && getcpu(nullptr, &here) == 0 && there != here + 1;
}

/// What arrived may be what a send waits for, and what it was in is owed.
void Remote::leave(net::Poller poller) {
  return_credit();
  if (sends_.has_waiting()) {
    sends_.progress();
  }
  if (lacks_memory_) {  // it has to nap
    ground_.bells.ring_rank(ground_.rank.world_rank);
  }
  node::Account& account = ground_.area.account;
  const bool by_helper = poller == net::Poller::helper;
  const std::uint64_t messages = moved_.messages - before_entry_.messages;
  ledger::add(by_helper ? account.helped_messages : account.carried_messages, messages);
  if (!by_helper && messages != 0 && is_far()) {
    ledger::add(account.carried_far, messages);
  }
  ledger::add(by_helper ? account.helped_bytes : account.carried_bytes,
              moved_.bytes - before_entry_.bytes);
  ground_.rank.lock.unlock();
}

/// Of an eager message, by both sides alike.
std::size_t Remote::credit_for(std::size_t payload) {
  return std::bit_ceil(sizeof(Message) + payload);
}

// --- Sending

bool Remote::send(LocalSend& send, Peer& to) {
  const std::size_t credit = credit_for(send.bytes);
  const bool eager = !send.synchronous && send.bytes <= ground_.limits.remote_eager &&
                     ground_.credit.allows(to, credit);
  if (!eager && !ground_.credit.allows_offer(to)) {
    return false;
  }
  Sending& sending = fresh_sending();
  sending.header.envelope = send;
  sending.header.origin = static_cast<std::uint32_t>(ground_.rank.world_rank);
  sending.header.destination = static_cast<std::uint32_t>(send.destination);
  sending.header.kind = Kind::message;
  sending.header.number = to.sent++;
  sending.header.credit = std::exchange(to.owed, 0);
  sending.header.bytes = send.bytes;
  sending.send = &send;
  sending.to = &to;
  to.is_known = true;
  to.has_left = false;  // it is to come back
  sending.offers = !eager;
  sending.beyond_credit = !eager && !send.synchronous && send.bytes <= ground_.limits.eager &&
                          ground_.credit.may_overflow(send.bytes);
  const void* payload = send.contiguous;
  if (send.bytes == 0) {
    payload = nothing;
  } else if (send.contiguous == nullptr || sending.beyond_credit) {
    sending.packed = std::make_unique_for_overwrite<char[]>(send.bytes);
    ground_.typed.pack(send, 0, sending.packed.get(), send.bytes);
    payload = sending.packed.get();
  }
  if (eager || sending.beyond_credit) {
    ground_.credit.count_in(to, credit);
  }
  to.offers += eager ? 0 : 1;
  const std::size_t bytes = eager ? send.bytes : std::max<std::size_t>(send.bytes, 1);
  if (hand_over(sending, payload, bytes, !eager) && sending.beyond_credit) {
    sending.since_ns = now_ns();
    beyond_.push_back(&sending);
    ground_.starve(ground_.limits.overflow_after_ns);
  }
  return true;
}

/// The last of the spare ones.
Remote::Sending& Remote::fresh_sending() {
  if (spare_.empty()) {
    spare_.push_back(std::make_unique<Sending>(*this));
  }
  return *spare_.back();
}

/// The last of the spare ones. True if it is under way, and none of those any more.
bool Remote::hand_over(Sending& sending, const void* payload, std::size_t bytes, bool offer) {
  const auto to = static_cast<int>(sending.header.destination);
  add(traffic_.sent, 1);
  switch (network_.send(sending.header, sizeof(Header), payload, bytes, offer, sending)) {
    case net::Sent::under_way:
      ++under_way_;
      add(traffic_.under_way, 1);
      static_cast<void>(spare_.back().release());
      spare_.pop_back();
      return true;
    case net::Sent::failed:
      lost(to, network_.problem().c_str());
      break;
    case net::Sent::now:
      break;
  }
  sending.finish();
  return false;
}

/// No message.
void Remote::say(int world_rank, Kind kind) {
  Sending& sending = fresh_sending();
  sending.header = {};
  sending.header.origin = static_cast<std::uint32_t>(ground_.rank.world_rank);
  sending.header.destination = static_cast<std::uint32_t>(world_rank);
  sending.header.kind = kind;
  sending.header.number = ground_.peers[world_rank].sent;
  sending.header.credit = std::exchange(ground_.peers[world_rank].owed, 0);
  hand_over(sending, nullptr, 0, false);
}

/// What has waited for long enough. True if anything moved.
bool Remote::check_beyond() {
  const std::uint64_t now = now_ns();
  const std::size_t before = beyond_.size();
  std::erase_if(beyond_, [&](Sending* sending) {
    const bool over = ground_.credit.is_within_credit(*sending->to) ||
                      now - sending->since_ns >= ground_.limits.overflow_after_ns;
    if (over) {
      ground_.credit.grow(*sending->to);
      sending->end_send();
      sending->is_unread = true;
      ++unread_;
    }
    return over;
  });
  return beyond_.size() != before;
}

// --- Receiving

/// False: it is a stranger's.
bool Remote::is_header(const void* bytes, std::size_t count, Header& header) {
  ++events_;
  if (count != sizeof header) {
    return false;
  }
  std::memcpy(&header, bytes, sizeof header);
  return ground_.is_me(header.destination);
}

bool Remote::may_compute_meanwhile() {
  if (ground_.box.pollers.load(std::memory_order_relaxed) != 0) {
    return false;
  }
  if (!ground_.rank.lock.try_lock()) {
    return true;  // it begins a wait, or leaves MPI
  }
  const bool does = ground_.rank.engine->may_have_to_answer();
  ground_.rank.lock.unlock();
  return does;
}

void Remote::arrived(const void* header, std::size_t header_bytes, const void* payload,
                     std::size_t bytes) {
  Header of_message;
  if (!is_header(header, header_bytes, of_message)) {
    return;
  }
  if (of_message.kind == Kind::goodbye) {
    Peer& from = ground_.peers[static_cast<int>(of_message.origin)];
    from.left_behind = of_message.number;
    from.has_left = static_cast<std::int32_t>(from.heard - from.left_behind) <= 0;  // else: is back
  }
  if (of_message.kind != Kind::message) {
    take_credit(of_message);
  } else if (bytes == of_message.bytes) {
    heard(of_message, payload, nullptr);
  }
  add(traffic_.taken, 1);
}

bool Remote::offered(const void* header, std::size_t header_bytes, void* payload,
                     std::size_t bytes) {
  Header of_message;
  if (!is_header(header, header_bytes, of_message) || of_message.kind != Kind::message ||
      bytes != std::max<std::uint64_t>(of_message.bytes, 1)) {
    return false;
  }
  add(traffic_.offered, 1);
  heard(of_message, nullptr, payload);
  add(traffic_.taken, 1);
  return true;
}

void Remote::take_credit(const Header& header) {
  if (header.credit != 0) {
    ground_.credit.count_out(ground_.peers[static_cast<int>(header.origin)], header.credit);
  }
}

void Remote::heard(const Header& header, const void* payload, void* offer) {
  const auto origin = static_cast<int>(header.origin);
  Peer& from = ground_.peers[origin];
  take_credit(header);
  // It is back, unless this was overtaken by its goodbye.
  from.has_left = from.has_left && static_cast<std::int32_t>(header.number - from.left_behind) < 0;
  from.is_known = true;
  if (header.number == 0 && says_goodbye_) {
    tell_goodbye(origin);
  }
  if (header.number == from.heard && take(header, payload, offer)) {
    if (!held_.empty()) [[unlikely]] {
      take_held(header.origin);
    }
    return;
  }
  Held& held = held_[{header.origin, header.number}];
  held = {header, offer, {}};
  if (offer == nullptr && header.bytes != 0) {
    const char* const first = static_cast<const char*>(payload);
    held.payload.assign(first, first + header.bytes);
  }
}

/// What is held of that rank's, as far as it goes on.
bool Remote::take_held(std::uint32_t origin) {
  bool moved = false;
  for (;;) {
    const auto next = held_.find({origin, ground_.peers[static_cast<int>(origin)].heard});
    if (next == held_.end() ||
        !take(next->second.header, next->second.payload.data(), next->second.offer)) {
      return moved;
    }
    held_.erase(next);
    moved = true;
  }
}

/// The next of its stream, to the mailbox. False: there is no memory.
bool Remote::take(const Header& header, const void* payload, void* offer) {
  const bool comes_along = offer == nullptr;
  Message* const message =
      cells_.find(ground_.rank.world_rank,
                  !comes_along ? offer_bytes(0)
                               : sizeof(Message) + (header.bytes > tiny_bytes ? header.bytes : 0));
  if (message == nullptr) {
    lacks_memory_ = true;
    ground_.starve(wait::nap_for_memory_ns);
    return false;
  }
  message->envelope() = header.envelope;
  message->kind = comes_along ? ItemKind::eager : ItemKind::rendezvous;
  message->flags = from_elsewhere;
  message->keeper = static_cast<std::uint32_t>(ground_.rank.world_rank);
  message->origin = header.origin;
  message->destination = header.destination;
  message->bytes = header.bytes;
  message->copy_ns = 0;
  if (!comes_along) {
    Transfer& transfer = *new (&transfer_of(*message)) Transfer{};
    transfer.word.store(orphaned, std::memory_order_relaxed);
    transfer.sender = reinterpret_cast<std::uint64_t>(offer);
  } else if (header.bytes != 0) {
    std::memcpy(payload_of(*message), payload, header.bytes);
  }
  ++ground_.peers[static_cast<int>(header.origin)].heard;
  ++moved_.messages;
  moved_.bytes += comes_along ? header.bytes : 0;
  matcher_.push(*message);
  return true;
}

Way::First Remote::begin(Message& message, Receive& receive) {
  transitions_.begin_shared(message, receive, false);
  return First::receiver;
}

void Remote::receive(Message& message, Receive& receive) {
  auto* const fetching = new Fetching(*this, message, receive);
  ++fetching_;
  add(traffic_.fetching, 1);
  add(traffic_.offered, one_less);
  void* const offer = reinterpret_cast<void*>(transfer_of(message).sender);
  const net::Sent sent = network_.fetch(offer, fetching->place(), fetching->bytes(), *fetching);
  if (sent != net::Sent::under_way) {
    fetching->over(sent == net::Sent::now ? nullptr : network_.problem().c_str());
  }
  transitions_.leave(message);
}

void Remote::fetched(Message& message, Receive& receive) {
  --fetching_;
  ++events_;
  moved_.bytes += message.bytes;
  transitions_.finish(receive, done);
  transitions_.leave(message);
  add(traffic_.fetching, one_less);
}

void Remote::owe_credit(std::uint32_t origin, std::size_t payload) {
  Peer& to = ground_.peers[static_cast<int>(origin)];
  to.owed += static_cast<std::uint32_t>(credit_for(payload));
  if (to.owed >= std::min(most_owed, ground_.limits.pair_credit / 4) && !to.is_creditor) {
    to.is_creditor = true;
    creditors_.push_back(static_cast<int>(origin));  // a match lock may be held
  }
}

bool Remote::return_credit() {
  const bool any = !creditors_.empty();
  while (!creditors_.empty()) {
    const int world_rank = creditors_.back();
    creditors_.pop_back();
    Peer& to = ground_.peers[world_rank];
    to.is_creditor = false;
    if (to.owed != 0 && !expects_ends_ && !to.has_left) {
      say(world_rank, Kind::credit);
    }
  }
  return any;
}

// --- Turns

bool Remote::progress() {
  const std::uint64_t before = events_;
  bool moved = network_.progress(this, net::Poller::waits);
  if (ground_.is_thread_rank()) {  // what moved may be others'
    network_.take_queued(ground_.rank.world_rank);
    moved = events_ != before;
  }
  moved |= return_credit();
  lacks_memory_ = lacks_memory_ && !held_.empty();
  if (!beyond_.empty()) [[unlikely]] {
    moved |= check_beyond();
  }
  if (!held_.empty()) [[unlikely]] {
    for (auto next = held_.begin(); next != held_.end();) {
      const std::uint32_t origin = next->first.first;
      moved |= take_held(origin);
      next = held_.lower_bound({origin + 1, 0});
    }
  }
  return moved;
}

bool Remote::prepare_sleep() {
  if (wait::ear()->has_bells_to_hold()) [[unlikely]] {
    const net::OutsideOfRank scope;
    wait::ear()->hold_bells();
  }
  return !network_.progress(this, net::Poller::waits) &&
         !network_.take_queued(ground_.rank.world_rank) && creditors_.empty() &&
         (wait::hears_for_itself() ? network_.arm_for_sleep() : network_.listen());
}

void Remote::tell_goodbye(int world_rank) {
  if (Peer& to = ground_.peers[world_rank]; !to.told_goodbye) {
    to.told_goodbye = true;
    say(world_rank, Kind::goodbye);
  }
}

void Remote::say_goodbye() {
  expect_ends();
  ground_.area.account.strangers.store(network_.strangers(), std::memory_order_relaxed);
  ground_.peers.until([this](int world_rank, const Peer& to) {
    if (to.is_known) {
      tell_goodbye(world_rank);
    }
    return false;
  });
  says_goodbye_ = true;
  // Somebody may be gone.
  constexpr std::uint64_t patience_ns = 2'000'000'000;
  const std::uint64_t began = now_ns();
  while ((progress() || under_way_ != unread_) && now_ns() - began < patience_ns) {
    ranks::yield();
  }
}

void Remote::come_back() {
  expects_ends_ = says_goodbye_ = false;
  ground_.peers.for_each([](Peer& to) { to.told_goodbye = false; });
}

bool Remote::all_said_goodbye() const {
  return ground_.peers.until([](int /*world_rank*/, const Peer& from) {
    return from.is_known && !from.has_left;
  }) < 0;
}

void Remote::lost(int world_rank, const char* problem) {
  if (expects_ends_ || give_up == nullptr) {
    return;
  }
  const int rank = ground_.peers.until([&](int other, const Peer& to) {
    return to.is_known && !to.has_left && network_.is_same_process(other, world_rank);
  });
  if (rank >= 0) {
    give_up(rank, problem);
  }
}

}  // namespace meantime::match
