#include "launch/supervise/ended_process.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace meantime::launch {

namespace {

// struct pidfd_info of linux/pidfd.h, newer than the headers this is built with.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t pid, thread_group, parent;
  std::uint32_t ids[8];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t exit_wanted = 1 << 3;
constexpr unsigned long get_info = _IOWR(0xff, 11, PidfdInfo);

}  // namespace

int watch_process(pid_t pid) {
  // A pidfd is close-on-exec by itself.
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

void signal_process(int pidfd, int signal) {
  syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

std::optional<int> wait_status_of(int pidfd) {
  PidfdInfo info{};
  info.mask = exit_wanted;
  if (ioctl(pidfd, get_info, &info) != 0 || (info.mask & exit_wanted) == 0) {
    return std::nullopt;
  }
  return info.exit_code;
}

}  // namespace meantime::launch
