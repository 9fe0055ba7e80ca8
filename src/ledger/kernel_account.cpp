#include "ledger/kernel_account.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/clock.h"

namespace meantime::ledger {

std::uint64_t cpu_ns_of(int thread) {
  // The kernel's number for the CPU clock of one thread (as pthread_getcpuclockid makes it).
  return clock_ns(static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6));
}

namespace {

std::optional<std::uint64_t> ready_ns_in(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return std::nullopt;
  }
  char text[80];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[std::max<ssize_t>(length, 0)] = '\0';
  unsigned long long ran = 0;
  unsigned long long ready = 0;
  unsigned long long times = 0;  // 0: the kernel's statistics are switched off
  const int numbers = std::sscanf(text, "%llu %llu %llu", &ran, &ready, &times);
  return numbers == 3 && times != 0 ? std::optional<std::uint64_t>(ready) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> ready_ns_of(int thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
  return ready_ns_in(path);
}

std::optional<std::uint64_t> own_ready_ns() {
  const int before = errno;
  const std::optional<std::uint64_t> ready = ready_ns_in("/proc/thread-self/schedstat");
  errno = before;
  return ready;
}

}  // namespace meantime::ledger
