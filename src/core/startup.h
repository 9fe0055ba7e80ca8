// A rank's way into the job and out of it: MPI_Init, MPI_Finalize, and the first session.
#pragma once

namespace meantime {
struct Rank;
}

namespace meantime::core {

/// Joins the job that mpiexec describes in the environment, or makes a job of one (a singleton).
/// A program started by a launcher that we do not support ends here, with one line that says how to
/// start it: N silent singletons would be wrong. An MPI error class.
int start_up(Rank& rank);

/// Waits until this rank's sends are in nobody's way, then leaves the job. Afterwards only what the
/// standard allows after MPI_Finalize works.
int shut_down(Rank& rank);

}  // namespace meantime::core
