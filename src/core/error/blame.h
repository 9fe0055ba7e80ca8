// Which communicator a failure belongs to when the failing call has none as an argument: a call
// that completes requests blames the communicator of the request that failed (MPI 5.0, 9.3).
#pragma once

namespace meantime {

struct Communicator;

/// Blames `comm`, which may be nullptr, for this thread's last failure, and keeps it alive until
/// the entry point has reported it. The rank's lock is held.
void blame(Communicator* comm);
/// Hands the blamed communicator over to the caller, who drops it; nullptr if there is none.
Communicator* take_blamed();

}  // namespace meantime
