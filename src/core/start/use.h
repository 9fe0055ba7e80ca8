// Uses of the library: MPI_Init until MPI_Finalize is one, every session is another (MPI 5.0 11.1).
// The first one brings the rank into the job. After the last one the rank is away, and the next
// brings it back. It leaves the job for good when the program exits.
#pragma once

namespace meantime {
struct Rank;
}

namespace meantime::core {

/// Begins a use: starts the library up if it is not up yet, with at least this thread level.
int begin_use(Rank& rank, int thread_level);
/// Ends a use. The last one waits until the rank's sends are in nobody's way; then only what the
/// standard allows after MPI_Finalize works.
int end_use(Rank& rank);
/// Of MPI_Finalize: over several nodes a rank stays until all are here, so that what it has sent is
/// taken, and nobody takes its end for that of its node. (A dissemination barrier; Hensgen, Finkel,
/// Manber, 1988.)
void wait_for_other_nodes(Rank& rank);

}  // namespace meantime::core
