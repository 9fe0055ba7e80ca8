// What the kernel knows of a worker, shared out to the thread ranks that it ran: the kernel has an
// account for each thread, and a rank has none. A rank's share is that of the time for which it ran
// there, by its own account: from MPI_Init to MPI_Finalize, without its waits (but with its looks
// in them), and without the time in which it was offloaded. What is left over is MPI's own:
// switches, and looks of waits that were too short to be timed. Where ranks have moved from worker
// to worker, the workers of their host are taken as one.
#pragma once

#include "ledger/reader.h"

namespace meantime::ledger {

/// Sets `cpu_ns` and `preempted_ns` of thread ranks. What they needed while offloaded is theirs,
/// and exact.
void prorate(Figures& figures);

}  // namespace meantime::ledger
