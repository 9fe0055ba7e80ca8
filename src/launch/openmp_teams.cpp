#include "launch/openmp_teams.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>

#include "launch/environment.h"

namespace meantime::launch {
namespace {

/// Of the outermost teams, which are the first of a list ("4,2").
long threads_of_a_team(const Job& job, const ProgramRequest& program) {
  const std::string text = user_value(job.command, program, "OMP_NUM_THREADS");
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  int threads = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), threads);
  return threads > 0 ? threads : job.cpus.mask;
}

}  // namespace

bool teams_outnumber_cpus(const Job& job) {
  long threads = 0;
  for (const ProgramRequest& program : job.command.programs) {
    threads += program.ranks * threads_of_a_team(job, program);
  }
  return threads > job.cpus.workers;
}

bool says_how_teams_wait(const Job& job, const ProgramRequest& program) {
  const std::initializer_list<const char*> names = {wait_policy_variable.data(), "GOMP_SPINCOUNT",
                                                    "KMP_BLOCKTIME"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    return !user_value(job.command, program, name).empty();
  });
}

}  // namespace meantime::launch
