#include "rank/rank.h"

namespace meantime {

// A process rank: the host is the rank. Never destroyed, because a user's destructors and atexit
// handlers may still ask whether MPI is finalized.
Rank* const detail::process_rank = new Rank;

}  // namespace meantime
