// The requests that a rank has outstanding, and the ways to wait for them.
#pragma once

#include "plan.h"

namespace fuzz {

/// From now on one request after the other is waited for, in the order in which they were begun:
/// what no library gets wrong.
void wait_plainly();

/// Called with the status when the request is complete.
using Done = std::function<void(MPI_Status&)>;

/// Puts a request that is under way among the outstanding ones. A persistent one is freed at its
/// end.
void put(MPI_Request request, bool persistent, Done done);
/// Completes some of them, or none, in a way that this rank draws.
void complete_some(Random& own);
void complete_all(Random& own);
int outstanding();
/// Waits for one request that is not in the pool, in a way that this rank draws.
void finish(Random& own, MPI_Request* request, MPI_Status* status);

}  // namespace fuzz
