// The environment of the ranks: mpiexec's own, the user's changes, and the launcher's variables.
#pragma once

#include <string>
#include <vector>

#include "launch/job.h"

namespace meantime::launch {

/// Numbers by which every rank knows its inherited descriptors.
struct RankDescriptors {
  int segment;
  int control;
  int lifeline;
};

/// The environment of one program's ranks. All of it is the same for each of them but the rank's
/// number, which `set_rank` writes in place: starting a rank builds nothing.
class RankEnvironment {
 public:
  RankEnvironment(const Job& job, const PreparedProgram& program, RankDescriptors descriptors);

  void set_rank(int rank);
  [[nodiscard]] char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> variables_;
  std::vector<char*> pointers_;
  std::vector<std::pair<std::size_t, std::string>> rank_variables_;
};

/// The value a program's ranks will have for `name` before the launcher adds its own.
std::string user_value(const CommandLine& command, const ProgramRequest& program,
                       const std::string& name);

}  // namespace meantime::launch
