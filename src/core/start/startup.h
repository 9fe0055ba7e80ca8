// A rank's way into the job and out of it: MPI_Init, MPI_Finalize, and the first session.
#pragma once

#include "scheduling/worker.h"

namespace meantime {
struct Rank;
}

namespace meantime::core {

// MPI_Init until MPI_Finalize is one use of the library, every session is another (MPI 5.0 11.1).

/// Begins a use: starts the library up if it is not up yet, with at least this thread level.
int begin_use(Rank& rank, int thread_level);
/// Ends a use. After the last one the rank is away: it waits until its sends are in nobody's way,
/// and only what the standard allows after MPI_Finalize works; but the next session brings it back.
/// It leaves the job for good when the program exits.
int end_use(Rank& rank);

/// Joins the job that mpiexec describes in the environment, or makes a job of one (a singleton).
/// A program started by a launcher that we do not support ends here, with one line that says how to
/// start it: N silent singletons would be wrong. An MPI error class.
int start_up(Rank& rank);

/// For a host of thread ranks: maps the segment, then runs the plan to its end. An errno.
int start_thread_ranks(ranks::Plan plan, int segment);

}  // namespace meantime::core
