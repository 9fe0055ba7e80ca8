// What arrives finds its receiver.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/replaced.h"
#include "net/network.h"
#include "net/outside_of_rank.h"

namespace meantime::net {

void Network::set_peers(std::vector<int> nodes, std::vector<std::string> addresses) {
  nodes_ = std::move(nodes);
  addresses_ = std::move(addresses);
  const std::set<int> different(nodes_.begin(), nodes_.end());
  node_count_ = static_cast<int>(different.size());
  const auto here = std::find_if(addresses_.begin(), addresses_.end(),
                                 [](const std::string& address) { return address.empty(); });
  const int own = nodes_[static_cast<std::size_t>(here - addresses_.begin())];
  own_node_ = static_cast<int>(std::distance(different.begin(), different.find(own)));
  std::map<std::string_view, int> first_with;
  for (const std::string& address : addresses_) {
    const auto rank = static_cast<int>(process_of_.size());
    process_of_.push_back(first_with.try_emplace(address, rank).first->second);
  }
  inboxes_ = std::vector<Inbox>(addresses_.size());
}

void Network::prepare(void (*ring)(int), void (*call)(int), int argument,
                      std::atomic<std::uint32_t>& threads) {
  ring_ = ring;
  threads.fetch_add(threads_of_ucx_, std::memory_order_relaxed);
  listener_ = std::make_unique<Listener>(efd_, call, argument, Urgency::as_others, threads);
  listener_->also_at(
      silence_.timer(), [](void* network) { static_cast<Network*>(network)->look_for_silence(); },
      this);
}

void Network::bound_silence(double seconds) {
  const LockGuard guard(lock_);
  silence_.bound(seconds);
}

// UCX makes a connection of TCP while its caller waits, who holds the lock. (What is connected to
// belongs to the time: whoever sets both writes the time first, so here it is that one or a later
// one.)
void Network::look_for_silence() noexcept {
  const OutsideOfRank scope;
  if (lock_.try_lock()) {
    silence_.look_if_due();
    lock_.unlock();
    return;
  }
  silence_.look_later();
  const int other = connecting_to_.load(std::memory_order_acquire);
  const double since = connecting_since_.load(std::memory_order_relaxed);
  if (other >= 0 && cannot_connect != nullptr && silence_.is_too_long(now_seconds() - since)) {
    cannot_connect(other, "no connection can be made");
  }
}

void Network::take_for(int world_rank, Receiver& receiver) {
  const LockGuard guard(lock_);
  inbox(world_rank).receiver = &receiver;
}

void Network::take_no_more_for(int world_rank) {
  const LockGuard guard(lock_);
  inbox(world_rank).receiver = nullptr;
}

Network::Queued::Queued(const Arrival& of)
    : what(of),
      header(static_cast<const char*>(of.header),
             static_cast<const char*>(of.header) + of.header_bytes),
      problem(of.problem != nullptr ? of.problem : "") {
  if (of.kind == Arrival::Kind::message) {
    const char* const first = static_cast<const char*>(of.payload);
    payload.assign(first, first + of.bytes);
  }
}

Network::Arrival Network::Queued::arrival() {
  Arrival all = what;
  all.header = header.data();
  all.payload = what.kind == Arrival::Kind::message ? payload.data() : what.payload;
  all.problem = what.problem != nullptr ? problem.c_str() : nullptr;
  return all;
}

/// False: an offer that is not wanted.
bool Network::give(Receiver& to, const Arrival& arrival) {
  switch (arrival.kind) {
    case Arrival::Kind::message:
      to.arrived(arrival.header, arrival.header_bytes, arrival.payload, arrival.bytes);
      break;
    case Arrival::Kind::offer:
      return to.offered(arrival.header, arrival.header_bytes, arrival.payload, arrival.bytes);
    case Arrival::Kind::operation:
      arrival.operation->over(arrival.problem);
      break;
    case Arrival::Kind::loss:
      to.lost(arrival.lost, arrival.problem);
      break;
  }
  return true;
}

bool Network::any_may_compute_meanwhile() {
  const LockGuard guard(lock_);
  return std::any_of(inboxes_.begin(), inboxes_.end(), [](const Inbox& of) {
    return of.receiver != nullptr && of.receiver->may_compute_meanwhile();
  });
}

// Why nothing lies in a queue that nobody looks at. Who queues says that there is some (seq_cst),
// tries to enter once more, and if the rank is still busy rings it.
//   A rank that leaves MPI lets go of its lock, then looks: if it sees none, its lock was free
//   before the queuer's second try.
//   A rank that falls asleep says so, then looks, then lets go of its lock: if it sees none, the
//   ring comes later, and finds the sleeper.
/// By the poller. False: an offer that is not wanted.
bool Network::deliver(int world_rank, const Arrival& arrival) {
  bool wanted = true;
  if (hand_over(world_rank, &arrival, wanted)) {
    return wanted;
  }
  Inbox& to = inbox(world_rank);
  to.queue.emplace_back(arrival);
  to.any.store(true, std::memory_order_seq_cst);
  if (!hand_over(world_rank, nullptr, wanted)) {
    ring_(world_rank);
  }
  return true;
}

/// First what was queued for it. False: the receiver is busy, or not there.
bool Network::hand_over(int world_rank, const Arrival* arrival, bool& wanted) {
  Receiver* const to = inbox(world_rank).receiver;
  const bool enters = to != polls_as_;
  if (to == nullptr || (enters && !to->try_enter())) {
    return false;
  }
  {
    const Replaced as(polls_as_, to);
    take_queued(world_rank);
    wanted = arrival == nullptr || give(*to, *arrival);
  }
  if (enters) {
    to->leave(poller_);
  }
  return true;
}

bool Network::take_queued_now(int world_rank) noexcept {
  std::vector<Queued> taken;
  Receiver* receiver = nullptr;
  {
    const LockGuard guard(lock_);
    Inbox& from = inbox(world_rank);
    receiver = from.receiver;
    if (receiver == nullptr) {
      return false;  // until it takes
    }
    from.any.store(false, std::memory_order_relaxed);
    taken.swap(from.queue);
  }
  for (Queued& each : taken) {
    if (!give(*receiver, each.arrival())) {
      refuse(each.what.payload);
    }
  }
  return !taken.empty();
}

}  // namespace meantime::net
