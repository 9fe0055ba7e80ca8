// What every part of a rank's engine stands on. Private to the rank, its lock held.
#pragma once

#include <vector>

#include "match/limits.h"
#include "match/local.h"
#include "match/route.h"
#include "node/cross_memory.h"
#include "node/pool.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"
#include "wait/park.h"
#include "wait/wait.h"

namespace meantime::match {

/// Whom the rank rings. While it holds a match lock it only notes them: nobody makes system calls
/// with a match lock held.
class Bells {
 public:
  /// 0: nobody sleeps.
  void ring(node::SleepLink sleep) {
    if (sleep == 0) {
      return;
    }
    if (only_note) {
      sleeps_.push_back(sleep);
    } else {
      wait::count_down(sleep);
    }
  }
  void ring_rank(int world_rank) {
    if (only_note) {
      ranks_.push_back(world_rank);
    } else {
      wait::ring_rank(world_rank);
    }
  }
  /// After something of that rank's came back to it, which it may lack (match/memory.h).
  void memory_is_back(int world_rank) {
    if (node::segment().header().wanting.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
      ring_rank(world_rank);
    }
  }
  bool noted() const { return !sleeps_.empty() || !ranks_.empty(); }
  void ring_noted() {
    while (!sleeps_.empty()) {
      const node::SleepLink sleep = sleeps_.back();
      sleeps_.pop_back();
      wait::count_down(sleep);
    }
    while (!ranks_.empty()) {
      const int world_rank = ranks_.back();
      ranks_.pop_back();
      wait::ring_rank(world_rank);
    }
  }

  bool only_note = false;  ///< a match lock is held

 private:
  std::vector<node::SleepLink> sleeps_;
  std::vector<int> ranks_;
};

class Remote;

struct Ground {
  Ground(Rank& owner, const Typed& types)
      : rank(owner),
        segment(node::segment()),
        area(*owner.area),
        box(owner.area->mailbox),
        typed(types),
        peers(owner.world_size),
        credit(limits) {}
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  bool is_me(std::uint32_t world_rank) const {
    return world_rank == static_cast<std::uint32_t>(rank.world_rank);
  }
  bool is_thread_rank() const { return rank.fiber != nullptr; }
  /// Thread ranks of one host: one memcpy is all a direct copy is.
  bool in_one_address_space(int world_rank) const {
    return is_thread_rank() && node::in_this_host(world_rank);
  }
  node::SleepLink sleep_to_arm(const node::Waiter& waiter) const {
    return wait::sleep_of(waiter) | (arms_for_rank ? node::for_the_rank : 0);
  }
  /// It naps instead of sleeping, also if it has armed already, and only looks once more.
  void starve(std::uint64_t nap_ns) {
    rank.starving = true;
    rank.nap_ns = nap_ns;
  }

  Rank& rank;
  node::Segment& segment;
  node::RankArea& area;
  node::Mailbox& box;
  const Typed typed;
  Limits limits;
  node::Pool pool;
  Bells bells;
  Peers peers;
  Credit credit;
  Route route;
  Remote* remote = nullptr;    ///< of a job with several nodes
  bool arms_for_rank = false;  ///< what is armed now any thread of the rank moves on
};

}  // namespace meantime::match
