// The job as mpiexec sees it: programs ready to be started, and one RankProcess for each rank with
// what is known of it. Plain data; supervisor.cpp moves it through its states.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "guest/plan.h"
#include "launch/cli/command_line.h"
#include "launch/start/cpus.h"
#include "launch/start/program.h"
#include "machine/frequency.h"
#include "machine/wake_up_cost.h"
#include "settings/sources.h"

namespace meantime::launch {

/// One program of the command line, resolved, inspected and accepted.
struct PreparedProgram {
  ProgramRequest request;
  std::string path;
  Inspection inspection;
  bool as_threads = false;
};

/// What a rank has told over its control socket. Only forwards.
enum class MpiPhase { outside, inside, finalized };

struct RankProcess {
  int program = 0;       ///< index in Job::programs
  int node = 0;          ///< which of the job's
  int host = -1;         ///< of a thread rank: index in Job::hosts; its pid and control are -1
  pid_t pid = -1;        ///< the process that mpiexec started, or the task; -1 before
  pid_t mpi_pid = -1;    ///< the one that called MPI_Init: pid, or a descendant of it
  int control = -1;      ///< our end of its control socket
  int mpi_process = -1;  ///< pidfd of mpi_pid, where that is no child that mpiexec started
  int script = -1;       ///< pidfd of the script that has started a task, if one has
  MpiPhase phase = MpiPhase::outside;
  bool was_gone = false;       ///< mpi_pid, before it could be watched: to be judged
  bool sessions_only = false;  ///< inside, and not by MPI_Init
  bool elsewhere = false;      ///< on another node: its supervisor there cares for it
  bool ended = false;          ///< of a thread rank: it has told so
  int wait_status = 0;         ///< of pid, once ended
  std::string host_name;       ///< of its node, once the figures of all nodes are together
  double cpu_seconds = -1;     ///< of pid and the children it has waited for, once ended
  std::string other_library;   ///< of another MPI, seen in pid's memory map before MPI_Init
  int crash_signal = 0;        ///< of which it has said that it is about to die …
  std::string crash;           ///< … and where
  // As it found them in MPI_Init; empty before:
  std::string way_to_wait;
  std::string energy_policy;

  /// Whether its figures are here.
  [[nodiscard]] bool is_told_of() const { return !elsewhere || !host_name.empty(); }
  /// Nothing that is to come from a rank is to come from it.
  void be_elsewhere() {
    elsewhere = ended = true;
    phase = MpiPhase::finalized;
  }
};

/// A process whose ranks are threads.
struct ThreadHost {
  int first_rank = 0;
  int ranks = 0;
  int first_worker = 0;  ///< its workers' numbers in the node
  int workers = 1;
  pid_t pid = -1;    ///< -1: not yet
  int control = -1;  ///< our end of its control socket; its messages name the rank
  bool ended = false;

  [[nodiscard]] bool running() const { return pid > 0 && !ended; }
  /// "rank 3", "ranks 4-7"
  [[nodiscard]] std::string text() const;
};

/// One of those whose mpiexec this one's is joined with (nodes/).
struct Member {
  std::string name;  ///< of its machine
  int first_rank = 0;
  int ranks = 0;  ///< 0: of a launcher's tasks, another one has its own; else it is not started
  bool there = false;
  bool over = false;       ///< its part of the job
  bool is_untold = false;  ///< that it is lost, for it may say so itself
  pid_t shell = -1;        ///< the process that was started for it; -1: none, or it has ended
  int input = -1;          ///< for that process, if not its order alone

  /// "NAME (ranks 4-7)".
  [[nodiscard]] std::string text() const;
};

struct Job {
  CommandLine command;
  int nodes = 1;              ///< of mpiexec's own, which are all on this machine
  std::vector<int> networks;  ///< of each node a descriptor of its network namespace; none: ours
  bool of_tasks = false;      ///< another launcher has started the ranks (tasks/) …
  int launcher = -1;          ///< … a pidfd of it
  pid_t launcher_pid = -1;
  std::string node_name;           ///< … and what it calls this node
  std::string meeting;             ///< of supervisors of several nodes, if there is to be one …
  int meeting_socket = -1;         ///< … which the hub listens at (nodes/meeting.h)
  int member = -1;                 ///< which of the members this one is; -1: the hub
  std::vector<Member> members;     ///< all that the hub expects, by their numbers
  bool starts_members = false;     ///< the hub, which has no ranks itself then …
  std::vector<std::string> words;  ///< … by these words of its own command line
  std::vector<int> first_of_node;  ///< of each rank, where mpiexecs are joined; else empty
  std::vector<int> member_of;      ///< of each rank its member, where supervisors are linked
  std::vector<ThreadHost> hosts;   ///< in the order of their ranks
  std::vector<PreparedProgram> programs;
  std::vector<RankProcess> ranks;
  std::vector<int> first_workers;  ///< of thread ranks, by --place file; else empty
  CpuBudget cpus;
  std::vector<cpu_set_t> bindings;  ///< of process ranks, in turn (find_bindings); empty: not bound
  bool crowded_teams = false;       ///< more threads of OpenMP teams than CPUs, if it uses OpenMP
  std::vector<int> report_files;    ///< descriptors of each --report=FILE
  settings::Files settings;         ///< what the site's and the user's file say
  std::set<std::string> told;       ///< topics that a line was said about, of those said once
  std::vector<std::string> notes;   ///< for the report (notes.h)
  machine::Frequencies frequencies;  ///< prepared only if the job may lower some
  std::string machine_root;  ///< stands for / where the machine is read and changed; for tests
  int latency_hold = -1;     ///< /dev/cpu_dma_latency, if the job bounds it
  std::optional<guest::Plan> guests;  ///< if it has some
  std::string guest_function;         ///< path of its library; empty: none
  std::optional<double> guest_bound;  ///< of the job's time, what guests may cost it
  machine::WakeUpCost wake_up;        ///< what waking a sleeper costs here, for the ranks
  std::string library_folder;         ///< holds our libmpi_abi.so.1; empty if it is not there

  [[nodiscard]] bool all_threads() const;
  /// Ranks of this node.
  [[nodiscard]] int ranks_here() const;
  [[nodiscard]] bool has_other_nodes() const {
    return ranks_here() < static_cast<int>(ranks.size());
  }
  /// The ranks need each other's addresses, and find them on a board.
  [[nodiscard]] bool has_board() const { return nodes > 1 || !first_of_node.empty(); }
  /// Of this node's ranks, which number that one is, from 0.
  [[nodiscard]] int rank_on_node(int rank) const;
  /// Kernel threads that run ranks: process ranks, and the hosts' workers.
  [[nodiscard]] int runners() const;
  /// On one of the nodes.
  [[nodiscard]] int runners(int node) const;
  /// Whose CPUs a request for a lower frequency is about, as an index of what `frequencies` were
  /// prepared with: the process rank, or that worker, if it is one of the thread rank's host. -1:
  /// of neither.
  [[nodiscard]] int runner_of(int rank, int worker) const;

  /// What holds of a setting for the whole job, as its first program's ranks would have it; empty:
  /// nobody has said anything.
  [[nodiscard]] std::string setting(std::string_view name) const;
  /// The same for the ranks of one program.
  [[nodiscard]] std::string setting(std::string_view name, const ProgramRequest& program) const;
  /// ... and who has said it.
  [[nodiscard]] settings::Value value(std::string_view name, const ProgramRequest& program) const;
  /// One of whom nothing is heard for longer is lost (MEANTIME_LOST_AFTER).
  [[nodiscard]] double most_silent_seconds() const;
  /// Whether a setting was made for this job (or one of its programs), and not by a file for many.
  [[nodiscard]] bool asked_for(std::string_view name) const;

  // What mpiexec had when it was started and its ranks get back.
  sigset_t signal_mask{};
  bool has_terminal = false;  ///< a controlling terminal, whose Ctrl-\ asks for the report
};

}  // namespace meantime::launch
