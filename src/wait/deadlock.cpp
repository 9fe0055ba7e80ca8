#include "wait/deadlock.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "node/segment.h"

namespace meantime::wait {
namespace {

bool all_asleep_or_gone(const node::Header& header) {
  const std::uint32_t asleep = header.asleep.load(std::memory_order_seq_cst);
  return asleep > 0 && asleep + header.finalized.load(std::memory_order_seq_cst) == header.ranks;
}

/// How many threads the process has, if all sleep and none is stopped or traced; else 0.
unsigned sleeping_threads(int pid) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) {
    return 0;
  }
  unsigned found = 0;
  bool sleeping = true;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') {
      continue;
    }
    ++found;
    std::FILE* status =
        std::fopen(fmt::format("{}/{}/status", folder, entry->d_name).c_str(), "re");
    if (status == nullptr) {
      sleeping = false;
      break;
    }
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr) {
      char state = 0;
      int tracer = 0;
      if (std::sscanf(line, "State: %c", &state) == 1 && state != 'S' &&
          pid != static_cast<int>(getpid())) {
        sleeping = false;
      }
      if (std::sscanf(line, "TracerPid: %d", &tracer) == 1) {
        sleeping = sleeping && tracer == 0;
        break;
      }
    }
    std::fclose(status);
  }
  closedir(tasks);
  return sleeping ? found : 0;
}

/// What a wave sees of a rank.
struct Seen {
  std::uint64_t sleeps;
  unsigned asleep;
};

}  // namespace

Verdict look_for_deadlock(Look look) {
  node::Segment& segment = node::segment();
  const node::Header& header = segment.header();
  if (header.on_deadlock == 2 || !all_asleep_or_gone(header)) {
    return Verdict::running;
  }
  std::vector<Seen> first(header.ranks);
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    node::RankArea& area = segment.area(static_cast<int>(rank));
    Seen& seen = first[rank];
    seen.sleeps = area.sleeps.load(std::memory_order_seq_cst);
    seen.asleep = area.asleep.load(std::memory_order_seq_cst);
    if (seen.asleep == 0) {
      continue;  // finalized; the header's sum says so
    }
    if (area.open_ended.load(std::memory_order_relaxed) != 0 ||
        area.starving.load(std::memory_order_seq_cst) != 0 ||
        (look == Look::hasty && area.threads.load(std::memory_order_relaxed) > seen.asleep)) {
      return Verdict::doubt;
    }
    const unsigned threads = sleeping_threads(area.pid.load(std::memory_order_relaxed));
    if (threads != seen.asleep) {
      area.threads.store(threads, std::memory_order_relaxed);
      return Verdict::doubt;
    }
  }
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    const node::RankArea& area = segment.area(static_cast<int>(rank));
    // In this order: whoever counts itself in writes `sleeps` first.
    if (first[rank].asleep != area.asleep.load(std::memory_order_seq_cst) ||
        first[rank].sleeps != area.sleeps.load(std::memory_order_seq_cst)) {
      return Verdict::running;
    }
  }
  return all_asleep_or_gone(header) ? Verdict::deadlock : Verdict::running;
}

std::uint64_t sleeps_of_others(int world_rank) {
  node::Segment& segment = node::segment();
  const node::Header& header = segment.header();
  std::uint64_t sum = 1;
  for (int rank = 0; rank < static_cast<int>(header.ranks); ++rank) {
    const node::RankArea& area = segment.area(rank);
    const auto state =
        static_cast<node::RankState>(area.report.state.load(std::memory_order_acquire));
    if (rank == world_rank || state == node::RankState::finalized ||
        area.starving.load(std::memory_order_seq_cst) != 0) {
      continue;
    }
    const unsigned asleep = area.asleep.load(std::memory_order_seq_cst);
    if (asleep == 0 || area.open_ended.load(std::memory_order_relaxed) != 0 ||
        sleeping_threads(area.pid.load(std::memory_order_relaxed)) != asleep) {
      return 0;
    }
    sum += area.sleeps.load(std::memory_order_seq_cst);
  }
  return header.on_deadlock == 2 ? 0 : sum;
}

void report_deadlock() {
  if (deadlock_hook != nullptr) {
    deadlock_hook();
  }
}

}  // namespace meantime::wait
