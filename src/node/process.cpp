#include "node/process.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>

#include "base/clock.h"

namespace meantime::node {
namespace {

std::uint64_t make_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    // Before the system has any randomness: no two processes are here at this time with this pid,
    // unless they are in two namespaces, and then not at this address.
    number = now_ns() ^ static_cast<std::uint64_t>(getpid()) << 48 ^
             reinterpret_cast<std::uint64_t>(&number);
  }
  return number != 0 ? number : 1;
}

/// Whether the /proc that is mounted here counts as this process does. The line NSpid has its pid
/// in the namespace of that /proc and in each one below, down to its own.
bool proc_is_ours() {
  std::FILE* status = std::fopen("/proc/self/status", "re");
  if (status == nullptr) {
    return false;
  }
  bool ours = false;
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr) {
    int first = 0;
    int second = 0;
    if (std::sscanf(line, "Pid: %d", &first) == 1) {
      ours = first == getpid();
    } else if (const int found = std::sscanf(line, "NSpid: %d %d", &first, &second); found > 0) {
      ours = ours && found == 1;
      break;
    }
  }
  std::fclose(status);
  return ours;
}

std::uint64_t find_pid_namespace() {
  struct stat status {};
  if (!proc_is_ours()) {
    return 0;
  }
  // A kernel without namespaces has one.
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 1;
}

std::uint64_t own_pid_namespace() {
  static const std::uint64_t own = find_pid_namespace();
  return own;
}

bool counts_as_we_do(const RankArea& area) {
  const std::uint64_t theirs = area.pid_namespace.load(std::memory_order_acquire);
  return theirs != 0 && theirs == own_pid_namespace();
}

}  // namespace

const std::uint64_t& process_number() {
  static const std::uint64_t number = make_number();
  return number;
}

void publish_process(RankArea& area) {
  publish_pid_namespace(area);
  area.process.store(process_number());
  area.pid.store(getpid());
}

void publish_pid_namespace(RankArea& area) {
  area.pid_namespace.store(own_pid_namespace(), std::memory_order_release);
}

int pid_here(const RankArea& area) {
  return counts_as_we_do(area) ? area.pid.load(std::memory_order_relaxed) : 0;
}

int host_here(const RankArea& area) {
  return counts_as_we_do(area) ? area.host.load(std::memory_order_relaxed) : 0;
}

bool is_stopped(const RankArea& area) {
  const int pid = pid_here(area);
  if (pid == 0) {
    return false;
  }
  std::FILE* status = std::fopen(("/proc/" + std::to_string(pid) + "/status").c_str(), "re");
  if (status == nullptr) {
    return false;
  }
  char line[256];
  char state = 0;
  while (state == 0 && std::fgets(line, sizeof line, status) != nullptr) {
    std::sscanf(line, "State: %c", &state);
  }
  std::fclose(status);
  return state == 'T' || state == 't';
}

}  // namespace meantime::node
