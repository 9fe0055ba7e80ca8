// What the user asked mpiexec for. Only the words of the command line: nothing here looks at files
// (host files excepted, which are words too) or programs, nor at the machine but to count the
// sockets and cores that ranks are wanted for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meantime::launch {

/// One change to a rank's environment; a missing value means that the name is taken out.
struct EnvironmentEdit {
  std::string name;
  std::optional<std::string> value;

  bool operator==(const EnvironmentEdit&) const = default;
};

/// What carries a rank: a process of its own, or one that carries many (automatic: whichever the
/// program allows).
enum class RankKind { processes, threads, automatic };

/// One program of the job (`:` separates several) and what belongs to its ranks alone.
struct ProgramRequest {
  int ranks = 1;
  std::vector<std::string> arguments;  ///< the program's name first
  std::vector<EnvironmentEdit> environment;
  std::string directory;            ///< empty: mpiexec's own
  std::optional<std::string> wait;  ///< --wait, as it was typed: settings know what makes sense
  RankKind kind{};
};

/// A machine that ranks are to run on.
struct NodeRequest {
  std::string name;
  int slots = 1;  ///< how many ranks it gets before others get more than theirs

  bool operator==(const NodeRequest&) const = default;
};

enum class Binding { none, hwthread, core, numa, socket, user };
enum class DeadlockAction { abort, report, ignore };
/// Which worker a thread rank begins on: ranks in blocks, or dealt out in turn, or as a file says.
enum class Placement { block, round_robin, file };
enum class Balance { none, steal };

/// How much of mpiexec's environment the ranks start from.
enum class EnvironmentBase { all, none, listed };

/// What becomes of what the ranks write.
struct RankOutput {
  bool labelled = false;  ///< [rank] before each line …
  bool timed = false;     ///< … and the time of day before that
  bool merged = false;    ///< standard error goes where standard output goes
  std::string folder;  ///< also into FOLDER/1/rank.N/stdout and stderr, as Open MPI names them …
  bool shown = true;   ///< … or only there

  [[nodiscard]] bool through_pipes() const { return labelled || timed || !folder.empty(); }
};

struct CommandLine {
  std::vector<ProgramRequest> programs;
  std::vector<EnvironmentEdit> environment;  ///< for all programs, before their own edits
  std::vector<NodeRequest> nodes;            ///< none: this machine alone …
  bool hosts_given = false;                  ///< … which was said
  bool nodes_of_slurm = false;               ///< they are those of the allocation
  EnvironmentBase environment_base = EnvironmentBase::all;
  std::vector<std::string> environment_list;
  RankOutput output;
  bool verbose = false;
  bool quiet = false;            ///< missing calls are not named before the start
  bool report_bindings = false;  ///< on which CPUs each rank may run
  bool debugger = false;
  double timeout_seconds = 0;  ///< 0: none
  Binding binding = Binding::none;
  std::string binding_option;  ///< as typed; empty: a number of CPUs for each rank implies it
  std::vector<std::vector<int>> binding_list;  ///< Binding::user: CPUs of rank 0, rank 1, ...
  int places_per_rank = 0;                     ///< cores (or whatever they are bound to); 0: one
  std::string places_option;                   ///< what said so, as typed
  int places_of_binding = 0;                   ///< that of the binding's own word (core:2); 0: none
  DeadlockAction on_deadlock = DeadlockAction::abort;
  bool on_deadlock_given = false;         ///< else a setting may say otherwise
  bool report = false;                    ///< where the time went, on standard error …
  std::vector<std::string> report_files;  ///< … and as JSON in these files
  Placement placement = Placement::block;
  std::string placement_file;
  Balance balance = Balance::steal;
  int ranks_per_process = 0;       ///< of thread ranks, at most; 0: as many as there may be
  bool counted = false;            ///< something says how many ranks there are …
  bool ranks_of_tasks = false;     ///< … or each task of a launcher has ranks_per_process of them
  bool for_threads = false;        ///< --place, --balance or --ranks-per-process is given
  int stdin_rank = 0;              ///< -1: nobody
  std::vector<std::string> notes;  ///< what was ignored and why, shown under -v

  [[nodiscard]] int ranks() const;
  [[nodiscard]] bool reports() const { return report || !report_files.empty(); }
};

/// The outcome of parsing: a command line to run, or a text to print and an exit status.
struct ParsedCommandLine {
  std::optional<CommandLine> command;
  std::string output;  ///< for standard output (--help, --version)
  std::string error;   ///< one line for standard error
  int status = 0;
};

/// Options that would do nothing because the job has no ranks of their kind, in one line; empty if
/// there are none.
std::string in_vain(const CommandLine& command, bool any_processes, bool any_threads);

/// `nodes`: what hosts are named is known already, none of them is to be looked up.
ParsedCommandLine parse_command_line(const std::vector<std::string>& words,
                                     const std::vector<NodeRequest>& nodes = {});

/// The names that --bind and --on-deadlock take, and their spelling in messages.
const char* binding_name(Binding binding);
const char* deadlock_action_name(DeadlockAction action);
std::optional<DeadlockAction> deadlock_action(std::string_view name);

}  // namespace meantime::launch
