// Which communicator a failure belongs to when the failing call has none as an argument: a call
// that completes requests attributes its error to the communicator of the request that failed (MPI
// 5.0, 9.3).
#pragma once

namespace meantime {

struct Communicator;

/// Attributes this thread's last failure to `comm`, which may be nullptr, and keeps it alive until
/// the entry point has reported it. The rank's lock is held.
void attribute_error(Communicator* comm);
/// Hands that communicator over to the caller, who drops it; nullptr if there is none.
Communicator* take_attribution();

}  // namespace meantime
