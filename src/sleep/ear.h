// What a process rank of a job with several nodes sleeps on: it hears the network and the others
// of its node in one system call, so that what comes from either wakes it, and nobody else first.
//   bell     a pipe of its process. The others of the node open it through /proc, as tasks do the
//            segment, and ring with a byte
//   holders  the ranks of the node whose processes have it open. A rank hears so only when all are
//            among them, so that everybody can ring it; until then it sleeps on the futex, and a
//            thread hears the network for it (net/listener.h). So it is where a rank has several
//            threads in MPI, or works while it sleeps
// Why no wake-up is lost: `hearing` is a state of the doorbell's word, in the place of `on_futex`.
// Whoever takes the word from it to `signalled` writes the byte afterwards, and the sleeper looks
// at the word after it has read what there was. So when it has taken this sleep's byte away, it
// sees `signalled`. The byte of an earlier sleep, whose ringer was late, wakes it in vain.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/lock.h"

namespace meantime::wait {

class Ear {
 public:
  /// For the ranks of this process from `first_rank` on. `of_node`: all of this node, in order.
  Ear(int first_rank, int ranks, std::vector<int> of_node);
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  /// Makes the bell of a process rank. `network`: a descriptor that is readable when something has
  /// come. 0 or an errno: then it never hears.
  int open(int network);
  /// Others of the node have made bells since these were opened last. One load.
  bool has_bells_to_hold() const;
  void hold_bells();
  /// All of the node can ring this rank. Once true it stays so.
  bool is_held_by_all() const;

  /// Until then at most (CLOCK_MONOTONIC, ns; ~0: for ever), or until a signal. True: the network
  /// has something.
  bool hear(std::uint64_t until_ns) const;
  /// Any thread; of a rank that has been seen `hearing`.
  void ring(int world_rank);

 private:
  struct Bell {
    std::atomic<int> descriptor{-1};
    bool is_refused = false;
  };
  int taken_again(int world_rank, Bell& bell);

  const int first_rank_;
  const int ranks_;
  const std::vector<int> of_node_;
  const std::unique_ptr<Bell[]> bells_;  ///< as in of_node_; of those that have one
  int network_ = -1;
  int rung_ = -1;  ///< the bell's other end
  Mutex lock_;
  std::atomic<std::uint32_t> bells_seen_{0};
};

namespace detail {
extern constinit Ear* host_ear;
}

/// Of this process, where its job has several nodes; else nullptr. Set before its first rank
/// sleeps.
inline Ear*& ear() {
  return detail::host_ear;
}

/// Called with a rank that cannot be woken, and an errno: the program has closed what is not its
/// own. Does not return.
inline void (*unheard_hook)(int world_rank, int error) = nullptr;

/// The calling rank sleeps so: what is to wake it, the network too, need not be heard by a thread.
/// Asked before the network is armed for the sleep, and again as it begins. That loses nothing, for
/// in between it becomes true at most, and the network is armed either way: the thread level rises
/// only while no thread is in MPI, and idle work is there before the ear, or never.
bool hears_for_itself();

}  // namespace meantime::wait
