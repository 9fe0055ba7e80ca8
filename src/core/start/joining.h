// Which job a process belongs to: the one that mpiexec describes in its environment, or one of its
// own (a singleton).
#pragma once

namespace meantime {
struct Rank;
}

namespace meantime::core {

/// That mpiexec has put there; -1: none.
int number_from_environment(const char* name);
/// True if mpiexec started this process as a rank, which now has its numbers and the job's segment.
bool join_job(Rank& rank);
/// MEANTIME_SINGLETON=1
bool wants_to_be_alone();
/// A program started by a launcher that we do not support, or a rank that has lost its job, ends
/// here, with one line that says what to do: N silent singletons would be wrong.
void refuse_to_be_alone();
/// An MPI error class.
/// If mpiexec has made several nodes: returns when all ranks are known.
void join_network(const Rank& rank, int ranks);
int make_singleton(Rank& rank);

}  // namespace meantime::core
