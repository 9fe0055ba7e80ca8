#include "deadlock/deadlock.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "node/process.h"
#include "node/segment.h"
#include "scheduling/worker.h"

namespace meantime::wait {
namespace {

bool all_asleep_or_gone(const node::Header& header) {
  const std::uint32_t asleep = header.asleep.load(std::memory_order_seq_cst);
  return asleep > 0 && asleep + header.finalized.load(std::memory_order_seq_cst) == header.ranks;
}

struct Thread {
  int tid = 0;
  char state = 0;
  bool traced = false;
  std::uint64_t switches = 0;  ///< how often it has given its CPU away, or lost it
};

/// Whether `switches`, which stand at the end, are read, too.
enum class Detail : std::uint8_t { state, switches };

/// Calls `look` with each thread of the process. False if it cannot be looked at from here, as pid
/// 0. A main thread that has ended (pthread_exit) stays in the list until the others have, and does
/// nothing: it is left out.
template <class Look>
bool for_each_thread(int pid, Detail detail, Look look) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) {
    return false;
  }
  bool complete = true;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') {
      continue;
    }
    std::FILE* status =
        std::fopen(fmt::format("{}/{}/status", folder, entry->d_name).c_str(), "re");
    if (status == nullptr) {
      complete = false;
      break;
    }
    Thread thread;
    thread.tid = std::atoi(entry->d_name);
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr) {
      int tracer = 0;
      unsigned long switches = 0;
      std::sscanf(line, "State: %c", &thread.state);
      if (std::sscanf(line, "TracerPid: %d", &tracer) == 1) {
        thread.traced = tracer != 0;
        if (detail == Detail::state) {
          break;
        }
      }
      if (std::sscanf(line, "voluntary_ctxt_switches: %lu", &switches) == 1 ||
          std::sscanf(line, "nonvoluntary_ctxt_switches: %lu", &switches) == 1) {
        thread.switches += switches;
      }
    }
    std::fclose(status);
    if (thread.state != 'Z') {
      look(thread);
    }
  }
  closedir(tasks);
  return complete;
}

/// How many threads the process has, if all but the searcher sleep and none is stopped or traced;
/// else 0. A thread that counted itself in, but was signalled before it slept, is found running.
unsigned sleeping_threads(int pid) {
  unsigned found = 0;
  bool sleeping = true;
  const int searcher = gettid();
  const bool complete = for_each_thread(pid, Detail::state, [&](const Thread& thread) {
    ++found;
    sleeping = sleeping && !thread.traced && (thread.state == 'S' || thread.tid == searcher);
  });
  return complete && sleeping ? found : 0;
}

/// What a wave sees of a rank; of a thread rank it is its worker's.
struct Seen {
  std::uint64_t sleeps;
  unsigned asleep;
  node::Link worker;  ///< a rank that moved between two waves has run
};

const node::WorkerPlace* worker_of(const node::RankArea& area) {
  const node::Link worker = area.worker.load(std::memory_order_acquire);
  return worker == 0 ? nullptr : node::segment().at<node::WorkerPlace>(worker);
}

// In this order: whoever counts itself in writes `sleeps` first.
unsigned asleep_of(const node::RankArea& area) {
  const node::WorkerPlace* worker = worker_of(area);
  return (worker != nullptr ? worker->asleep : area.asleep).load(std::memory_order_seq_cst);
}
std::uint64_t sleeps_of(const node::RankArea& area) {
  const node::WorkerPlace* worker = worker_of(area);
  return (worker != nullptr ? worker->sleeps : area.sleeps).load(std::memory_order_seq_cst);
}

/// How many threads its process has if all of them sleep in MPI.
unsigned threads_if_in_mpi(const node::RankArea& area) {
  const node::WorkerPlace* worker = worker_of(area);
  return worker != nullptr ? worker->host_threads.load(std::memory_order_relaxed) : asleep_of(area);
}

}  // namespace

Verdict look_for_deadlock(Look look) {
  node::Segment& segment = node::segment();
  const node::Header& header = segment.header();
  if (header.on_deadlock == 2 || !all_asleep_or_gone(header)) {
    return Verdict::running;
  }
  std::vector<Seen> first(header.ranks);
  std::uint64_t host = 0;  // the last one that was looked at: many ranks may have the same
  bool may_be_woken = false;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    node::RankArea& area = segment.area(static_cast<int>(rank));
    Seen& seen = first[rank];
    seen.sleeps = sleeps_of(area);
    seen.asleep = asleep_of(area);
    seen.worker = area.worker.load(std::memory_order_acquire);
    if (seen.asleep == 0) {
      switch (static_cast<node::RankState>(area.report.state.load(std::memory_order_seq_cst))) {
        case node::RankState::finalized:
          continue;
        case node::RankState::away:
          return Verdict::doubt;
        default:
          return Verdict::running;
      }
    }
    const node::WorkerPlace* worker = worker_of(area);
    if (worker != nullptr && worker->offloaded.load(std::memory_order_relaxed) != 0) {
      return Verdict::running;
    }
    const unsigned expected =
        worker != nullptr ? worker->host_threads.load(std::memory_order_relaxed) : seen.asleep;
    if (area.napping.load(std::memory_order_seq_cst) != 0 ||
        area.starving.load(std::memory_order_seq_cst) != 0 ||
        (look == Look::hasty && (area.open_ended.load(std::memory_order_relaxed) != 0 ||
                                 area.threads.load(std::memory_order_relaxed) > expected))) {
      return Verdict::doubt;
    }
    if (area.open_ended.load(std::memory_order_relaxed) != 0) {
      may_be_woken = true;
    }
    const std::uint64_t process = area.process.load(std::memory_order_relaxed);
    if (process == host) {
      continue;
    }
    host = process;
    const unsigned threads = sleeping_threads(node::pid_here(area));
    if (threads != expected) {
      area.threads.store(threads, std::memory_order_relaxed);
      if (threads < expected || look == Look::hasty) {
        return Verdict::doubt;
      }
      may_be_woken = true;
    }
  }
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    const node::RankArea& area = segment.area(static_cast<int>(rank));
    if (first[rank].asleep != asleep_of(area) || first[rank].sleeps != sleeps_of(area) ||
        first[rank].worker != area.worker.load(std::memory_order_acquire)) {
      return Verdict::running;
    }
  }
  if (!all_asleep_or_gone(header)) {
    return Verdict::running;
  }
  return may_be_woken ? Verdict::quiet : Verdict::deadlock;
}

bool Stillness::lasts(Verdict verdict) {
  if (verdict != Verdict::quiet) {
    since_ns_ = 0;
    return false;
  }
  node::Segment& segment = node::segment();
  std::uint64_t sleeps = 0;
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    sleeps += sleeps_of(segment.area(rank));
  }
  const std::uint64_t now = now_ns();
  if (since_ns_ == 0 || sleeps != sleeps_) {
    since_ns_ = now;
    sleeps_ = sleeps;
  }
  return now - since_ns_ >= still_ns;
}

std::vector<int> ranks_that_may_be_woken(int awake) {
  node::Segment& segment = node::segment();
  std::vector<int> ranks;
  std::uint64_t host = 0;  // many ranks may have the same, of which the first stands for all
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    const node::RankArea& area = segment.area(rank);
    const std::uint64_t process = area.process.load(std::memory_order_relaxed);
    const unsigned own = rank == awake && worker_of(area) == nullptr ? 1 : 0;  // a worker is in
    if (asleep_of(area) == 0 && rank != awake) {
      continue;
    }
    const bool other_threads =
        process != host && sleeping_threads(node::pid_here(area)) > threads_if_in_mpi(area) + own;
    host = process;
    if (other_threads || area.open_ended.load(std::memory_order_relaxed) != 0) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

void report_stillness(int awake) {
  if (stillness_hook != nullptr) {
    stillness_hook(awake);
  }
}

std::uint64_t sleeps_of_others(int world_rank) {
  node::Segment& segment = node::segment();
  const node::Header& header = segment.header();
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;  // so that the two counts do not mix
  std::uint64_t sum = 1;
  for (int rank = 0; rank < static_cast<int>(header.ranks); ++rank) {
    const node::RankArea& area = segment.area(rank);
    const auto state =
        static_cast<node::RankState>(area.report.state.load(std::memory_order_acquire));
    if (rank == world_rank || state == node::RankState::finalized) {
      continue;
    }
    if (const std::uint32_t starving = area.starving.load(std::memory_order_seq_cst)) {
      sum += starving * spread;
      continue;
    }
    if (worker_of(area) != nullptr) {
      // Its worker sleeps and wakes for others, too: the caller's own may carry this rank.
      if (state != node::RankState::waiting) {
        return 0;
      }
      sum += area.account.parks.load(std::memory_order_relaxed);
      continue;
    }
    if (area.asleep.load(std::memory_order_seq_cst) == 0) {
      return 0;
    }
    sum += area.sleeps.load(std::memory_order_seq_cst);
  }
  return header.on_deadlock == 2 ? 0 : sum;
}

Verdict look_beside(int world_rank, Switches& switches) {
  node::Segment& segment = node::segment();
  const node::WorkerPlace* const own = worker_of(segment.area(world_rank));
  std::uint64_t host = 0;  // the last one that was looked at: many ranks may have the same
  Verdict verdict = Verdict::deadlock;
  const Switches before = std::exchange(switches, {});
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    const node::RankArea& area = segment.area(rank);
    const auto state =
        static_cast<node::RankState>(area.report.state.load(std::memory_order_acquire));
    if (state == node::RankState::finalized) {
      continue;
    }
    const bool starving = area.starving.load(std::memory_order_seq_cst) != 0;
    if (rank < world_rank && starving) {
      return Verdict::running;
    }
    if (area.open_ended.load(std::memory_order_relaxed) != 0) {
      verdict = Verdict::quiet;
    }
    const node::WorkerPlace* worker = worker_of(area);
    unsigned in_mpi = 0;
    unsigned nappers = 0;
    if (worker == nullptr) {
      // Who naps may be awake at this moment, as the caller is, and then is not counted as asleep.
      nappers = area.nappers.load(std::memory_order_seq_cst);
      in_mpi = std::max(nappers,
                        area.asleep.load(std::memory_order_seq_cst) + (rank == world_rank ? 1 : 0));
    } else {
      // A worker that is up has something to run, but the caller's own: that has the caller. (It
      // said how many are offloaded when it slept for the caller's last nap.)
      const bool up = worker == own ? ranks::others_runnable()
                                    : worker->asleep.load(std::memory_order_seq_cst) == 0;
      if (up || worker->offloaded.load(std::memory_order_relaxed) != 0) {
        return Verdict::running;
      }
      in_mpi = worker->host_threads.load(std::memory_order_relaxed);
    }
    const std::uint64_t process = area.process.load(std::memory_order_relaxed);
    if (process == host) {
      continue;
    }
    host = process;
    unsigned threads = 0;
    unsigned still = 0;  // since the last look
    unsigned asleep = 0;
    bool stopped = false;
    const auto count = [&](const Thread& thread) {
      ++threads;
      const auto known = before.find(thread.tid);
      const bool sleeps = thread.state == 'S';
      asleep += sleeps || thread.tid == gettid() ? 1 : 0;
      still += sleeps && known != before.end() && known->second == thread.switches ? 1 : 0;
      stopped |= thread.traced || thread.state == 'T' || thread.state == 't';
      switches[thread.tid] = thread.switches;
    };
    const bool complete = for_each_thread(node::pid_here(area), Detail::switches, count);
    // All sleep at this moment, or those that do not nap have slept all the while.
    if (!complete || stopped || threads < in_mpi ||
        (asleep < threads && still + nappers < threads)) {
      return Verdict::running;
    }
    // (A napper that is awake may just have found what it lacked: then the next look is no later.)
    if (threads > in_mpi || asleep < threads) {
      verdict = Verdict::quiet;
    }
  }
  return verdict;
}

void report_deadlock() {
  if (deadlock_hook != nullptr) {
    deadlock_hook();
  }
}

}  // namespace meantime::wait
