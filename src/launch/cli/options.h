// Every option mpiexec knows: its own, and those that users of Open MPI and Hydra (MPICH, Intel
// MPI) type from habit. One row an option; docs/reference/mpiexec.md shows the same table and a
// test compares them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace meantime::launch {

/// What the parser does when it meets the option.
enum class Action {
  ranks,
  ranks_per_node,      ///< there is one node: as many ranks, unless their number is given
  ranks_per_socket,    ///< the same for each socket …
  ranks_per_resource,  ///< … or what its value, N:RESOURCE, says
  export_variable,
  set_for_program,
  set_for_all,
  keep_all,
  keep_none,
  keep_list,
  drop,
  directory,
  initial_errhandler,
  memory_kinds,
  label,
  time_lines,
  merge_output,
  output_files,
  output,  ///< Open MPI 5's list of these
  timeout,
  bind,
  cpus_per_rank,
  map_by,  ///< its PE=N: CPUs for each rank, ppr:N:RESOURCE: ranks; the rest means nothing here
  report_bindings,
  display,  ///< bind and map, in a list, are `report_bindings`; the rest is ignored
  verbose,
  quiet,
  help,
  version,
  debugger,
  on_deadlock,
  wait,
  guest,
  max_overhead,
  guest_freeze,
  ledger_report,  ///< its value, which only `=` attaches, may be missing
  kind,
  place,
  ranks_per_process,
  balance,
  standard_input,
  hosts,
  remote_shell,
  host_file,
  ignore,  ///< harmless here: a note under -v
  refuse,  ///< would change the run in a way we cannot give
};

struct Option {
  std::string_view name;  ///< without its leading dashes; one or two dashes are the same
  int arguments;
  Action action;
  std::string_view note;  ///< why it is ignored, or what to use instead of a refused one
  bool own = false;       ///< ours: listed by --help, offered as a suggestion
  std::string_view note_for_threads = {};  ///< where the note is of no use to thread ranks
};

std::span<const Option> all_options();

/// The option of this name (no dashes), or nullptr.
const Option* find_option(std::string_view name);

/// The option whose name is nearest to a mistyped one; empty if none is near.
std::string nearest_option(std::string_view name);

/// Text of --help.
std::string help_text();
/// Where it describes its options.
inline constexpr std::size_t help_column = 26;

}  // namespace meantime::launch
