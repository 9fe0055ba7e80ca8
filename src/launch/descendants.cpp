#include "launch/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>

namespace meantime::launch {

namespace {

// Parent and state from "/proc/PID/stat": PID (name, which may hold anything) state parent ...
bool read_stat(const char* pid, pid_t& parent, char& state) {
  char text[512];
  std::string path = std::string("/proc/") + pid + "/stat";
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  if (bytes <= 0) {
    return false;
  }
  text[bytes] = '\0';
  const char* end = std::strrchr(text, ')');
  if (end == nullptr || std::strlen(end) < 4) {
    return false;
  }
  state = end[2];
  parent = static_cast<pid_t>(std::atoi(end + 4));
  return true;
}

}  // namespace

std::vector<pid_t> descendants() {
  std::unordered_multimap<pid_t, pid_t> children;
  if (DIR* folder = opendir("/proc")) {
    while (const dirent* entry = readdir(folder)) {
      pid_t parent = 0;
      char state = 0;
      if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
          read_stat(entry->d_name, parent, state) && state != 'X') {
        children.emplace(parent, static_cast<pid_t>(std::atoi(entry->d_name)));
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

int kill_descendants(double patience_seconds) {
  // A process that forks while we look may be missed by one round, never by all: each round ends
  // its parents, and what they leave comes to us.
  constexpr timespec pause{0, 5'000'000};
  int rounds = static_cast<int>(patience_seconds / 5e-3);
  for (int round = 0; round < rounds; ++round) {
    signal_descendants({SIGKILL});
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) {
      return 0;
    }
    nanosleep(&pause, nullptr);
  }
  return static_cast<int>(descendants().size());
}

}  // namespace meantime::launch
