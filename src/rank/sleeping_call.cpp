#include "rank/sleeping_call.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace meantime::ranks {
namespace {

struct Name {
  long number;
  const char* text;
};

/// Those that a program sleeps in, by the name that it calls them.
constexpr Name names[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread"},
    {SYS_pwrite64, "pwrite"},
    {SYS_openat, "open"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_ioctl, "ioctl"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "select"},
    {SYS_epoll_pwait, "epoll_wait"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "nanosleep"},
    {SYS_futex, "a lock, or another wait for a thread (futex)"},
    {SYS_wait4, "waitpid"},
    {SYS_waitid, "waitid"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept"},
    {SYS_recvfrom, "recv"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "send"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_rt_sigtimedwait, "sigwait"},
    {SYS_rt_sigsuspend, "sigsuspend"},
#if defined(SYS_poll)
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_open, "open"},
#endif
};

/// -1: in none, or the kernel does not tell.
long number_of_call(int thread) {
  std::FILE* const file =
      std::fopen(fmt::format("/proc/self/task/{}/syscall", thread).c_str(), "re");
  long number = -1;
  const bool found = file != nullptr && std::fscanf(file, "%ld", &number) == 1;
  if (file != nullptr) {
    std::fclose(file);
  }
  return found ? number : -1;
}

}  // namespace

bool is_about_memory(long call) {
  constexpr long calls[] = {SYS_mmap,    SYS_munmap, SYS_mremap,   SYS_mprotect,
                            SYS_madvise, SYS_brk,    SYS_fallocate};
  return std::find(std::begin(calls), std::end(calls), call) != std::end(calls);
}

bool waits_for_memory(int thread) {
  return is_about_memory(number_of_call(thread));
}

std::string sleeping_call(int thread) {
  const long number = number_of_call(thread);
  if (number < 0) {
    return {};
  }
  for (const Name& each : names) {
    if (each.number == number) {
      return each.text;
    }
  }
  return fmt::format("system call {}", number);
}

}  // namespace meantime::ranks
