#include "ledger/kernel_account.h"

#include <cstdio>
#include <ctime>

namespace meantime::ledger {

std::uint64_t cpu_ns_of(int thread) {
  timespec time{};
  // The kernel's number for the CPU clock of one thread (as pthread_getcpuclockid makes it).
  clock_gettime(static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6), &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::optional<std::uint64_t> ready_ns_of(int thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) {
    return std::nullopt;
  }
  unsigned long long ran = 0;
  unsigned long long ready = 0;
  unsigned long long times = 0;  // 0: the kernel's statistics are switched off
  const int numbers = std::fscanf(file, "%llu %llu %llu", &ran, &ready, &times);
  std::fclose(file);
  return numbers == 3 && times != 0 ? std::optional<std::uint64_t>(ready) : std::nullopt;
}

}  // namespace meantime::ledger
