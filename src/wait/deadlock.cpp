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

/// True if the process has exactly `threads` threads, all sleeping and none stopped or traced.
bool only_sleeps(int pid, unsigned threads) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) {
    return false;
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
  return sleeping && found == threads;
}

}  // namespace

Verdict look_for_deadlock() {
  node::Segment& segment = node::segment();
  const node::Header& header = segment.header();
  if (header.on_deadlock == 2 || !all_asleep_or_gone(header)) {
    return Verdict::running;
  }
  std::vector<std::uint64_t> sleeps(header.ranks);
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    const node::RankArea& area = segment.area(static_cast<int>(rank));
    sleeps[rank] = area.sleeps.load(std::memory_order_seq_cst);
    const unsigned asleep = area.asleep.load(std::memory_order_seq_cst);
    if (asleep == 0) {
      continue;  // finalized; the header's sum says so
    }
    if (area.open_ended.load(std::memory_order_relaxed) != 0 ||
        !only_sleeps(area.pid.load(std::memory_order_relaxed), asleep)) {
      return Verdict::doubt;
    }
  }
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    const node::RankArea& area = segment.area(static_cast<int>(rank));
    if (sleeps[rank] != area.sleeps.load(std::memory_order_seq_cst)) {
      return Verdict::running;
    }
  }
  return all_asleep_or_gone(header) ? Verdict::deadlock : Verdict::running;
}

void report_deadlock() {
  if (deadlock_hook != nullptr) {
    deadlock_hook();
  }
}

}  // namespace meantime::wait
