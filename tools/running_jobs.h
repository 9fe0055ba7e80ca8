// The jobs that run on this machine, found by their supervisors; what their ranks say of themselves
// lies in the job's segment, which whoever may look at the supervisor's descriptors may map.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace meantime::tools {

struct RunningJob {
  /// What the user started, or the supervisor of another launcher's tasks: the job's name for
  /// `meantime`.
  pid_t mpiexec = 0;
  pid_t supervisor = 0;
  std::string command;
  double seconds = 0;  ///< since it was started
};

/// One rank as it is now.
struct RankLine {
  pid_t pid = 0;       ///< 0 before MPI_Init, in another PID namespace, and of another user
  pid_t host = 0;      ///< of a thread rank: the process that carries it; else 0, as above
  bool ended = false;  ///< its process is gone
  std::string text;
};

/// Whether a rank that was listed has ended meanwhile.
bool has_ended(const RankLine& rank);

/// In the order of their pids; only those whose segment this user may see.
std::vector<RunningJob> running_jobs();

/// The ranks, in order; empty if the job has just ended or is of another version of Meantime.
std::vector<RankLine> ranks_of(const RunningJob& job);

}  // namespace meantime::tools
