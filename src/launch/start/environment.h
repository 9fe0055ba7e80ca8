// The environment of the ranks: mpiexec's own, the user's changes, and the launcher's variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/job.h"

namespace meantime::launch {

/// Numbers by which every rank knows its inherited descriptors.
struct RankDescriptors {
  int segment;
  int control;
  int lifeline;
  int board;  ///< of a job with several nodes
};

/// The environment of one program's ranks. All of it is the same for each of them but the rank's
/// number, so starting a rank builds next to nothing.
class RankEnvironment {
 public:
  RankEnvironment(const Job& job, const PreparedProgram& program, RankDescriptors descriptors);

  /// The pointers that execve takes. Those texts that are this rank's alone go to `texts`, the
  /// others stay here: both must live until the program is executed. The last one ends with as many
  /// digits as a pid may have, for the process to write its own (Spawn::end_of_own_pid).
  std::vector<char*> of_rank(int rank, int rank_on_node, std::vector<std::string>& texts) const;
  /// What a task is to set, NAME=VALUE with a zero byte each: that of its own which mpiexec's ranks
  /// inherit. Its descriptors it knows itself.
  [[nodiscard]] std::string of_task(int rank, int rank_on_node) const;
  /// Those of a host of thread ranks, which knows their numbers.
  std::vector<char*> of_host() const;

 private:
  void apply_settings(const Job& job, const ProgramRequest& program);

  std::vector<std::string> variables_;
};

/// What mpiexec's command line says of a setting for a program's ranks, or nothing: of that program
/// alone (-env), by an option of the setting's own (--wait), or for all ranks (-x).
std::optional<std::string> option_value(const CommandLine& command, const ProgramRequest& program,
                                        std::string_view setting);

/// The value a program's ranks will have for `name` before the launcher adds its own.
std::string user_value(const CommandLine& command, const ProgramRequest& program,
                       const std::string& name);
/// The names of all that they will have.
std::vector<std::string> user_names(const CommandLine& command, const ProgramRequest& program);

}  // namespace meantime::launch
