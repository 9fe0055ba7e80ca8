// What ranks have counted in the segment of their sleeps. Of a thread rank it is its worker's.
#pragma once

#include <cstdint>

#include "node/segment.h"

namespace meantime::wait {

inline const node::WorkerPlace* worker_of(const node::Segment& segment,
                                          const node::RankArea& area) {
  const node::Link worker = area.worker.load(std::memory_order_acquire);
  return worker == 0 ? nullptr : segment.at<node::WorkerPlace>(worker);
}

// In this order: whoever counts itself in writes `sleeps` first.
inline unsigned asleep_of(const node::Segment& segment, const node::RankArea& area) {
  const node::WorkerPlace* worker = worker_of(segment, area);
  return (worker != nullptr ? worker->asleep : area.asleep).load(std::memory_order_seq_cst);
}
inline std::uint64_t sleeps_of(const node::Segment& segment, const node::RankArea& area) {
  const node::WorkerPlace* worker = worker_of(segment, area);
  return (worker != nullptr ? worker->sleeps : area.sleeps).load(std::memory_order_seq_cst);
}

/// How many threads its process has if all of them sleep in MPI; those of the network apart.
inline unsigned threads_if_in_mpi(const node::Segment& segment, const node::RankArea& area) {
  const node::WorkerPlace* worker = worker_of(segment, area);
  return worker != nullptr ? worker->host_threads.load(std::memory_order_relaxed)
                           : asleep_of(segment, area);
}

/// Of the ranks of this node, as far as the header's sum is right (deadlock.h).
inline bool all_asleep_or_gone(const node::Header& header) {
  return header.asleep.load(std::memory_order_seq_cst) +
             header.finalized.load(std::memory_order_seq_cst) ==
         header.ranks_here;
}

}  // namespace meantime::wait
