// The subcommands of `meantime`. Each returns the command's exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace meantime::tools {

/// Looks at this machine and this installation: 0 if all that MPI needs works, else 1.
int doctor();

/// Prints every setting (or that of this name) with its value and who made it: 0, or 1 if one makes
/// no sense, 2 if there is none of that name.
int config(const std::string& name);

/// Says whether the ranks of a program can be threads of one process, and if not why: 0 yes, 1 no
/// (--as auto makes them processes), 2 cannot tell.
int check(const std::string& program);

/// Names the MPI calls a program imports that Meantime does not have yet: 0 none, 1 some, 2 cannot
/// tell.
int missing(const std::string& program);

/// Builds the Fortran modules and library for a compiler: becomes
/// share/meantime/fortran/build-bindings with these words (its --help tells them). Returns 2 only
/// if that is not there.
int fortran(const std::vector<std::string>& words);

/// Lists this user's running jobs, or only this one, by the pid of its mpiexec, with what every
/// rank does or waits for; `each`: in a line of its own, with its pid. 2 if there is no such job.
int ps(std::optional<int> job, bool each);

/// The same for one job, by the pid of its mpiexec, with backtraces from gdb; `rank` -1: of all its
/// ranks. `all_frames`: Meantime's own, too. 1 if not all could be looked at, 2 if there is no such
/// job, rank or gdb.
int stack(int job, int rank, bool all_frames);

struct StealOptions {
  std::string guest;                    ///< as mpiexec --guest takes it; empty: as the settings say
  std::vector<std::string> command;     ///< a launcher of whatever MPI
  std::string mode;                     ///< how a wait sleeps first (shim/waiting.h)
  std::optional<std::string> overhead;  ///< what guests may cost, in %; or as the settings say
  bool all = false;                     ///< in all waits, not only in collectives
  bool verbose = false;
  bool print = false;
};
/// Becomes the command, with guests beside its ranks. Or prints how a shell sets the variables that
/// it would have. Returns if the command cannot be run: 1, 2 for a wrong command line, 126 or 127.
int steal(const StealOptions& options);

struct ClusterOptions {
  std::string nodes;
  std::vector<std::string> command;
  std::string bandwidth;  ///< of a node's device, as tc says it; empty: as fast as it goes
  std::string delay;      ///< of what a node sends; empty: none
  bool loopback = false;  ///< not in network namespaces, though they may be allowed
};
/// Runs the command so that the mpiexec in it plays nodes: its exit status, or 1 if there is no
/// such network, 2 for a wrong command line, 126 or 127 if the command cannot be run.
int cluster(const ClusterOptions& options);

/// Becomes the benchmarks' script with these words; returns, with 2, only if it is not there.
int bench(std::vector<std::string> words);

}  // namespace meantime::tools
