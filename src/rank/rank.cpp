#include "rank/rank.h"

#include "rank/rank_of_thread.h"

#include <new>

namespace meantime {
namespace {

// A process rank: the host is the rank. Never destroyed, because a user's destructors and atexit
// handlers may still ask whether MPI is finalized.
union Place {
  constexpr Place() : nothing{} {}
  ~Place() {}
  char nothing;
  Rank rank;
};
constinit Place process_rank;

/// Before the constructors of this library's objects, which find a rank.
[[gnu::constructor(101)]] void make_process_rank() {
  new (&process_rank.rank) Rank;
}

}  // namespace

constinit bool detail::host_counts_calls = false;
constinit thread_local Rank* detail::current_rank = &process_rank.rank;
constinit thread_local Rank* detail::rank_of_thread = nullptr;

}  // namespace meantime
