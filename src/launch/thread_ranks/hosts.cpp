#include "launch/thread_ranks/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "launch/start/environment.h"
#include "launch/start/installation.h"
#include "launch/thread_ranks/host_trial.h"
#include "launch/thread_ranks/map_file.h"
#include "settings/settings.h"

namespace meantime::launch {

std::string ThreadHost::text() const {
  return ranks == 1 ? fmt::format("rank {}", first_rank)
                    : fmt::format("ranks {}-{}", first_rank, first_rank + ranks - 1);
}

bool Job::all_threads() const {
  std::size_t carried = 0;
  for (const ThreadHost& host : hosts) {
    carried += static_cast<std::size_t>(host.ranks);
  }
  return carried == (first_of_node.empty() ? ranks.size() : static_cast<std::size_t>(ranks_here()));
}

int Job::ranks_here() const {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(),
                                        [](const RankProcess& rank) { return !rank.elsewhere; }));
}

int Job::rank_on_node(int rank) const {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.begin() + rank,
                                        [](const RankProcess& one) { return !one.elsewhere; }));
}

int Job::runners() const {
  int count = 0;
  for (int node = 0; node < nodes; ++node) {
    count += runners(node);
  }
  return count;
}

int Job::runners(int node) const {
  int count = 0;
  for (const RankProcess& rank : ranks) {
    count += rank.host < 0 && rank.is_told_of() && rank.node == node ? 1 : 0;
  }
  for (const ThreadHost& host : hosts) {
    count += ranks[static_cast<std::size_t>(host.first_rank)].node == node ? host.workers : 0;
  }
  return count;
}

int Job::runner_of(int rank, int worker) const {
  const int number = ranks[rank].host;
  if (number < 0) {
    return rank;
  }
  const ThreadHost& host = hosts[number];
  const bool its = worker >= host.first_worker && worker < host.first_worker + host.workers;
  return its && all_threads() ? worker : -1;
}

namespace {

/// What a process has once for all of its ranks.
bool share_a_process(const ProgramRequest& one, const ProgramRequest& other) {
  return one.directory == other.directory && one.wait == other.wait &&
         one.environment == other.environment;
}

long most_maps(const Job& job) {
  const settings::Setting& setting = *settings::find("MEANTIME_TEST_MOST_MAPS");
  if (const auto number = settings::number(setting, job.setting(setting.name))) {
    return static_cast<long>(*number);
  }
  std::ifstream file("/proc/sys/vm/max_map_count");
  long limit = 0;
  return file >> limit ? limit : 0;
}

/// How many ranks of these programs one process may carry, as far as the kernel's limit of the
/// pieces of an address space goes. A fifth of it is left to what the ranks will map.
int most_ranks_of_a_process(const Job& job, int first_program, int last_program, int ranks) {
  constexpr long usual = 1000;         // of the host itself, its libraries and those of a program
  constexpr long most_of_a_rank = 32;  // without a look: programs in C have 4, in Fortran 8
  const long limit = most_maps(job) / 5 * 4;
  if (limit == 0 || usual + ranks * most_of_a_rank <= limit) {
    return ranks;
  }
  long of_a_rank = 1;
  long others = 0;
  for (int number = first_program; number <= last_program; ++number) {
    const PreparedProgram& program = job.programs[number];
    const std::string file = program.path.starts_with('/') || program.request.directory.empty()
                                 ? program.path
                                 : program.request.directory + "/" + program.path;
    const TrialMaps maps = try_for_maps(
        file, with_our_libraries(user_value(job.command, program.request, "LD_LIBRARY_PATH")));
    if (maps.of_a_rank == 0) {
      return ranks;  // it cannot be loaded: the host says why
    }
    of_a_rank = std::max(of_a_rank, maps.of_a_rank);
    others += maps.others;
  }
  return static_cast<int>(std::clamp<long>((limit - others) / of_a_rank, 1, ranks));
}

void add_hosts(Job& job, int first_rank, int ranks) {
  int most = most_ranks_of_a_process(job, job.ranks[first_rank].program,
                                     job.ranks[first_rank + ranks - 1].program, ranks);
  if (const int asked = job.command.ranks_per_process; asked != 0) {
    most = std::min(most, asked);
  }
  const int count = (ranks + most - 1) / most;
  for (int number = 0; number < count; ++number) {
    ThreadHost host;
    const auto begin = static_cast<int>(static_cast<long>(ranks) * number / count);
    const auto end = static_cast<int>(static_cast<long>(ranks) * (number + 1) / count);
    host.first_rank = first_rank + begin;
    host.ranks = end - begin;
    for (int rank = host.first_rank; rank < first_rank + end; ++rank) {
      job.ranks[rank].host = static_cast<int>(job.hosts.size());
    }
    job.hosts.push_back(host);
  }
}

/// The CPUs that the process ranks leave, or else the thread ranks' share by their number; at least
/// one worker a host. Between the hosts by their numbers of ranks.
void share_workers(Job& job) {
  if (job.hosts.empty()) {
    return;
  }
  const int cpus = job.cpus.workers;
  const int all = job.ranks_here();
  int threads = 0;
  for (const ThreadHost& host : job.hosts) {
    threads += host.ranks;
  }
  const int left =
      std::max(cpus - (all - threads), static_cast<int>(static_cast<long>(cpus) * threads / all));
  int ranks_before = 0;
  int first_worker = 0;
  for (ThreadHost& host : job.hosts) {
    const auto share_until = [&](int ranks) {
      return static_cast<int>(static_cast<long>(left) * ranks / threads);
    };
    host.workers = std::clamp(share_until(ranks_before + host.ranks) - share_until(ranks_before), 1,
                              host.ranks);
    host.first_worker = first_worker;
    ranks_before += host.ranks;
    first_worker += host.workers;
  }
}

}  // namespace

std::string divide_into_hosts(Job& job) {
  const auto all = static_cast<int>(job.ranks.size());
  for (int first = 0, end = 0; first < all; first = end) {
    const PreparedProgram& program = job.programs[job.ranks[first].program];
    const auto goes_along = [&](const PreparedProgram& other) {
      return other.as_threads && share_a_process(program.request, other.request);
    };
    end = first + 1;
    if (job.ranks[first].elsewhere) {
      continue;
    }
    while (program.as_threads && end < all && job.ranks[end].node == job.ranks[first].node &&
           !job.ranks[end].elsewhere && goes_along(job.programs[job.ranks[end].program])) {
      ++end;
    }
    if (program.as_threads) {
      add_hosts(job, first, end - first);
    }
  }
  share_workers(job);
  if (job.command.placement != Placement::file || job.hosts.empty()) {
    return {};
  }
  if (job.hosts.size() > 1 || !job.all_threads()) {
    return "--place file: the ranks of this job are not all threads of one process";
  }
  return read_map_file(job.command.placement_file, all, job.hosts.front().workers,
                       job.first_workers);
}

}  // namespace meantime::launch
