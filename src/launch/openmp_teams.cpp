#include "launch/openmp_teams.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>

#include "launch/environment.h"

namespace meantime::launch {
namespace {

/// Of the outermost teams, which are the first of a list ("4,2").
long threads_of_a_team(const Job& job, const ProgramRequest& program, int cpus) {
  const std::string text = user_value(job.command, program, "OMP_NUM_THREADS");
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  int threads = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), threads);
  return threads > 0 ? threads : cpus;
}

}  // namespace

bool teams_outnumber_cpus(const Job& job) {
  struct Crowd {
    long threads = 0;
    int cpus = 0;
  };
  std::vector<Crowd> crowds(std::max<std::size_t>(1, job.places.size()), {0, job.cpus.mask});
  Crowd all{0, job.cpus.workers};
  for (std::size_t i = 0; i < job.places.size(); ++i) {
    crowds[i].cpus = CPU_COUNT(&job.places[i]);
  }
  std::size_t rank = 0;
  for (const ProgramRequest& program : job.command.programs) {
    std::vector<long> of_a_team;
    for (const Crowd& crowd : crowds) {
      of_a_team.push_back(threads_of_a_team(job, program, crowd.cpus));
    }
    for (int i = 0; i < program.ranks; ++i, ++rank) {
      crowds[rank % crowds.size()].threads += of_a_team[rank % crowds.size()];
      all.threads += of_a_team[rank % crowds.size()];
    }
  }
  const auto crowded = [](const Crowd& crowd) { return crowd.threads > crowd.cpus; };
  return crowded(all) || std::any_of(crowds.begin(), crowds.end(), crowded);
}

bool says_how_teams_wait(const Job& job, const ProgramRequest& program) {
  const std::initializer_list<const char*> names = {wait_policy_variable.data(), "GOMP_SPINCOUNT",
                                                    "KMP_BLOCKTIME"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    return !user_value(job.command, program, name).empty();
  });
}

}  // namespace meantime::launch
