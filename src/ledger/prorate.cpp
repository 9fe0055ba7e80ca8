#include "ledger/prorate.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace meantime::ledger {
namespace {

std::uint64_t less(std::uint64_t whole, std::uint64_t part) {
  return whole - std::min(whole, part);
}

/// On a worker, by its own account; others may have had the core meanwhile.
std::uint64_t ran_ns(const RankFigures& rank) {
  const std::uint64_t looked = rank.spent_ns[static_cast<int>(Activity::poll)] +
                               rank.spent_ns[static_cast<int>(Activity::yield)];
  return less(less(rank.wall_ns, less(rank.wait_ns, looked)), rank.offloaded_ns);
}

/// What is shared out among the same ranks.
struct Pool {
  std::uint64_t workers_ran_ns = 0;
  std::uint64_t ranks_ran_ns = 0;
  std::uint64_t cpu_ns = 0;   ///< while ranks ran …
  std::uint64_t lost_ns = 0;  ///< … and others had the core, which the kernel knows of …
  bool told = true;           ///< … if it has told of all of them

  double share_of(const RankFigures& rank) const {
    return static_cast<double>(ran_ns(rank)) /
           static_cast<double>(std::max({workers_ran_ns, ranks_ran_ns, std::uint64_t{1}}));
  }
};

/// Hosts some of whose ranks have moved, as far as can be seen: they are offloaded at the end, or
/// more time was passed on a worker than it has had.
std::set<int> hosts_that_moved_ranks(const Figures& figures) {
  std::set<int> hosts;
  std::vector<std::uint64_t> ran(figures.workers.size());
  for (const RankFigures& rank : figures.ranks) {
    if (rank.worker >= 0) {
      const auto worker = static_cast<std::size_t>(rank.worker);
      ran[worker] += ran_ns(rank);
      if (rank.worker != rank.home) {
        hosts.insert(figures.workers[worker].host);
      }
    }
  }
  for (std::size_t i = 0; i < ran.size(); ++i) {
    const std::uint64_t had = figures.workers[i].spent(Doing::run);
    if (ran[i] > had + had / 50) {
      hosts.insert(figures.workers[i].host);
    }
  }
  return hosts;
}

}  // namespace

void prorate(Figures& figures) {
  const std::set<int> moved = hosts_that_moved_ranks(figures);
  // A worker's own, or its whole host's: below all numbers of workers.
  const auto key = [&](int worker) {
    const int host = figures.workers[static_cast<std::size_t>(worker)].host;
    return moved.contains(host) ? -1 - host : worker;
  };
  std::map<int, Pool> pools;
  for (std::size_t i = 0; i < figures.workers.size(); ++i) {
    const WorkerFigures& worker = figures.workers[i];
    Pool& pool = pools[key(static_cast<int>(i))];
    const std::uint64_t ran = worker.spent(Doing::run);
    const std::uint64_t cpu = worker.cpu_ns - worker.idle_cpu_ns();
    pool.workers_ran_ns += ran;
    pool.cpu_ns += cpu;
    pool.lost_ns += std::min(less(ran, cpu), worker.preempted_ns.value_or(0));
    pool.told = pool.told && worker.preempted_ns.has_value();
  }
  for (const RankFigures& rank : figures.ranks) {
    if (rank.worker >= 0) {
      pools[key(rank.worker)].ranks_ran_ns += ran_ns(rank);
    }
  }
  for (RankFigures& rank : figures.ranks) {
    if (rank.worker < 0 || figures.workers[static_cast<std::size_t>(rank.worker)].cpu_ns == 0) {
      continue;
    }
    const Pool& pool = pools[key(rank.worker)];
    const auto part = [share = pool.share_of(rank)](std::uint64_t ns) {
      return static_cast<std::uint64_t>(share * static_cast<double>(ns));
    };
    // 0 would be unknown. A share is nothing where the rank's short waits, which are sampled and
    // charged for others, come to all of its time.
    rank.cpu_ns = std::max(rank.offloaded_cpu_ns + part(pool.cpu_ns), std::uint64_t{1});
    rank.preempted_ns = pool.told ? std::optional(part(pool.lost_ns)) : std::nullopt;
  }
}

}  // namespace meantime::ledger
