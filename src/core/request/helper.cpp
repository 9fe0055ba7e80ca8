#include "core/request/helper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <utility>
#include <vector>

#include "core/error/abort.h"
#include "ledger/layout.h"
#include "node/segment.h"
#include "scheduling/worker.h"
#include "sleep/ear.h"

namespace meantime::core {

constinit Helper* host_helper = nullptr;

namespace {

/// Who has found nothing to move looks again after so long: what that costs is little beside it.
constexpr long first_nap_ns = 100'000;
constexpr long longest_nap_ns = 1'600'000;

void nap(long nanoseconds) {
  const timespec time{0, nanoseconds};
  nanosleep(&time, nullptr);
}

std::uint64_t own_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Set before the first rank uses the network.
int first_of_host = 0;
int ranks_of_host = 0;

bool any_rank_sleeps() {
  for (int rank = first_of_host; rank < first_of_host + ranks_of_host; ++rank) {
    if (node::segment().area(rank).mailbox.sleepers.load(std::memory_order_seq_cst) != 0) {
      return true;
    }
  }
  return false;
}

void ring(int world_rank) {
  wait::ring_rank(world_rank);
}

void ring_the_rank(int world_rank) {
  net::network()->heard();
  wait::ring_rank(world_rank);
}

/// As long as a rank sleeps. A worker may poll meanwhile: then it takes what comes, and this thread
/// is not to be called for all of that.
void poll_for_sleepers(int) {
  net::Network& network = *net::network();
  network.heard();
  do {
    bool moved = false;
    while (network.progress(nullptr, net::Poller::helper)) {
      moved = true;
    }
    if (!moved) {
      nap(first_nap_ns);
    }
  } while (any_rank_sleeps() && !network.listen());
}

/// By a worker with nothing to run.
bool look_for_others() {
  return net::network()->progress(nullptr, net::Poller::waits);
}

[[noreturn]] void tell_unheard(int world_rank, int error) {
  abort_job(1,
            fmt::format("rank {} sleeps and cannot be woken: its bell, a descriptor of Meantime's, "
                        "was closed, and cannot be opened again: {}",
                        world_rank, std::strerror(error)));
}

/// Before the first rank sleeps.
void open_ear(int first_rank, int ranks) {
  std::vector<int> of_node;
  for (int rank = 0; rank < net::network()->ranks(); ++rank) {
    if (net::network()->node_of(rank) == net::network()->node_of(first_rank)) {
      of_node.push_back(rank);
    }
  }
  wait::unheard_hook = tell_unheard;
  wait::ear() = new wait::Ear(first_rank, ranks, std::move(of_node));  // as long as the process
}

void start_helper(Rank* rank, bool helps, std::atomic<std::uint32_t>& threads) {
  if (helps && host_helper == nullptr) {
    host_helper = new Helper(rank, threads);  // as long as its thread: for ever
  }
}

}  // namespace

void hear_network_for(Rank& rank, bool helps) {
  if (net::network() == nullptr) {
    return;
  }
  std::atomic<std::uint32_t>& threads = rank.area->network_threads;
  net::network()->prepare(ring, ring_the_rank, rank.world_rank, threads);
  open_ear(rank.world_rank, 1);
  if (wait::ear()->open(net::network()->efd()) == 0) {  // else a thread hears the network
    wait::ear()->hold_bells();
  }
  if (helps) {
    rank.lock.enable_for_helper();
  }
  start_helper(&rank, helps, threads);
}

void hear_network_for_host(int first_rank, int ranks, bool helps) {
  if (net::network() == nullptr) {
    return;
  }
  first_of_host = first_rank;
  ranks_of_host = ranks;
  std::atomic<std::uint32_t>& threads = node::segment().area(first_rank).network_threads;
  net::network()->prepare(ring, poll_for_sleepers, 0, threads);
  open_ear(first_rank, ranks);
  ranks::when_idle() = look_for_others;
  start_helper(nullptr, helps, threads);
}

Helper::Helper(Rank* rank, std::atomic<std::uint32_t>& threads)
    : rank_(rank),
      listener_(net::network()->efd(), heard, 0, net::Urgency::leaves_cpus_to_others, threads) {}

/// If more comes than is moved in a few turns, the rank has the next look.
void Helper::watch(Rank& rank) {
  constexpr int most_turns = 4;
  for (int turns = 0; turns < most_turns && rank.engine->may_have_to_answer(); ++turns) {
    if (net::network()->arm()) {
      watches_.store(true, std::memory_order_relaxed);  // before it may be called
      if (listener_.listen() != 0) {
        watches_.store(false, std::memory_order_relaxed);
      }
      return;
    }
    rank.engine->progress();
  }
}

void Helper::heard(int) {
  Helper& helper = *host_helper;
  long nap_ns = first_nap_ns;
  for (helper.vain_ = 0;;) {
    switch (helper.turn()) {
      case Turn::moved:
        helper.vain_ = 0;
        nap_ns = first_nap_ns;
        break;
      case Turn::in_vain:
        ++helper.vain_;
        nap(nap_ns);
        nap_ns = std::min(2 * nap_ns, longest_nap_ns);
        break;
      case Turn::over:
        return;
    }
  }
}

Helper::Turn Helper::let_go() {
  watches_.store(false, std::memory_order_relaxed);
  return Turn::over;
}

Helper::Turn Helper::listen_again() {
  if (!net::network()->arm()) {
    return Turn::moved;
  }
  return listener_.listen() == 0 ? Turn::over : let_go();
}

Helper::Turn Helper::turn() {
  if (rank_ == nullptr) {
    return turn_of_host();
  }
  if (rank_->lock.is_wanted() || !rank_->lock.try_lock()) {
    return Turn::in_vain;
  }
  const Turn result = turn_of_rank();
  rank_->lock.unlock();
  return result;
}

Helper::Turn Helper::turn_of_rank() {
  if (rank_->phase.load(std::memory_order_relaxed) != Phase::active) {
    return let_go();
  }
  node::Account& account = rank_->area->account;
  const node::Mailbox& box = rank_->area->mailbox;
  if (box.sleepers.load(std::memory_order_relaxed) != 0) {
    return let_go();
  }
  if (box.pollers.load(std::memory_order_relaxed) != 0) {
    return Turn::in_vain;
  }
  const match::Remote& remote = *rank_->engine->remote;
  const match::Remote::Moved before = remote.moved();
  bool moved = false;
  try {
    moved = rank_->engine->progress();
  } catch (const std::exception&) {
    return let_go();  // no memory: the rank has the same look itself, and says so
  }
  ledger::add(account.helped_messages, remote.moved().messages - before.messages);
  ledger::add(account.helped_bytes, remote.moved().bytes - before.bytes);
  if (moved) {
    return Turn::moved;
  }
  account.helper_cpu_ns.store(own_cpu_ns(), std::memory_order_relaxed);
  return rank_->engine->may_have_to_answer() ? listen_again() : let_go();
}

/// Whose message it is, and whether he may be entered, the network finds out.
Helper::Turn Helper::turn_of_host() {
  constexpr int most_in_vain = 3;
  if (net::network()->progress(nullptr, net::Poller::helper)) {
    moved_any_ = true;
    return Turn::moved;
  }
  node::segment()
      .area(first_of_host)
      .account.helper_cpu_ns.store(own_cpu_ns(), std::memory_order_relaxed);
  if (std::exchange(moved_any_, false)) {
    return listen_again();
  }
  if (vain_ < most_in_vain) {
    return Turn::in_vain;
  }
  // A rank that leaves MPI from here on sees that it has to ask for the helper itself; one that has
  // not seen it, because it was just leaving, has left after the nap.
  watches_.store(false, std::memory_order_seq_cst);
  for (int look = 0; look < 2; ++look) {
    if (net::network()->any_may_compute_meanwhile()) {
      return watches_.exchange(true, std::memory_order_seq_cst) ? Turn::over : listen_again();
    }
    nap(first_nap_ns);
  }
  return Turn::over;
}

}  // namespace meantime::core
