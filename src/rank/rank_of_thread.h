// A kernel thread that a thread rank has started is no rank and may not call MPI (FUNNELED), except
// for what any thread may ask: whether MPI is up, and with which threads.
#pragma once

#include "rank/rank.h"

namespace meantime {

namespace detail {
extern constinit thread_local Rank* rank_of_thread;
}

/// The rank that the calling thread belongs to: self(), unless a thread rank has started it.
inline Rank& rank_of_thread() {
  return detail::rank_of_thread != nullptr ? *detail::rank_of_thread : self();
}

}  // namespace meantime
