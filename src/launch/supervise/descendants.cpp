#include "launch/supervise/descendants.h"

#include <dirent.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <unordered_map>

#include "launch/inspect/process_info.h"

namespace meantime::launch {

std::vector<pid_t> descendants() {
  std::unordered_multimap<pid_t, pid_t> children;
  if (DIR* folder = opendir("/proc")) {
    while (const dirent* entry = readdir(folder)) {
      const pid_t pid = std::atoi(entry->d_name);  // 0 for what is not a process
      if (const ProcessStat stat = pid > 0 ? process_stat(pid) : ProcessStat{}; stat.state != 0) {
        children.emplace(stat.parent, pid);
      }
    }
    closedir(folder);
  }
  std::vector<pid_t> found = {getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

void signal_descendants(std::initializer_list<int> signals) {
  for (pid_t pid : descendants()) {
    for (int signal : signals) {
      kill(pid, signal);
    }
  }
}

int kill_descendants(double patience_seconds,
                     const std::function<void(pid_t, const rusage&)>& ended) {
  // A process that forks while we look may be missed by one round, never by all: each round ends
  // its parents, and what they leave comes to us.
  constexpr timespec pause{0, 5'000'000};
  int rounds = static_cast<int>(patience_seconds / 5e-3);
  for (int round = 0; round < rounds; ++round) {
    signal_descendants({SIGKILL});
    pid_t reaped = 0;
    rusage used{};
    while ((reaped = wait4(-1, nullptr, WNOHANG, &used)) > 0) {
      if (ended) {
        ended(reaped, used);
      }
    }
    if (reaped < 0 && errno == ECHILD) {
      return 0;
    }
    nanosleep(&pause, nullptr);
  }
  return static_cast<int>(descendants().size());
}

}  // namespace meantime::launch
