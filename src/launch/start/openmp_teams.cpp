#include "launch/start/openmp_teams.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>

#include "launch/start/environment.h"

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
  std::vector<Crowd> bound;
  for (const cpu_set_t& binding : job.bindings) {
    bound.push_back({0, CPU_COUNT(&binding)});
  }
  Crowd unbound{0, job.cpus.mask};
  Crowd all{0, job.cpus.workers};
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const bool is_bound = job.ranks[rank].host < 0 && !bound.empty();
    Crowd& its = is_bound ? bound[rank % bound.size()] : unbound;
    const ProgramRequest& program =
        job.command.programs[static_cast<std::size_t>(job.ranks[rank].program)];
    const long team = threads_of_a_team(job, program, its.cpus);
    its.threads += team;
    all.threads += team;
  }
  const auto crowded = [](const Crowd& crowd) { return crowd.threads > crowd.cpus; };
  return crowded(all) || crowded(unbound) || std::any_of(bound.begin(), bound.end(), crowded);
}

bool says_how_teams_wait(const Job& job, const ProgramRequest& program) {
  const std::initializer_list<const char*> names = {wait_policy_variable.data(), "GOMP_SPINCOUNT",
                                                    "KMP_BLOCKTIME"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    return !user_value(job.command, program, name).empty();
  });
}

}  // namespace meantime::launch
