#include "host/process/children.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "host/interpose/offloaded.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

constexpr int look_again_ms = 100;

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

}  // namespace

void Children::news() {
  if (news_ >= 0) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = syscall(SYS_write, news_, &one, sizeof one);
  }
}

void Children::add(pid_t pid, std::FILE* stream) {
  const LockGuard guard(lock_);
  const Making making;
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  keep_for_host(descriptor);
  all_.push_back({pid, descriptor, stream});
  news();
}

void Children::remove(pid_t pid) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Child& each) { return each.pid == pid; });
  if (found == all_.end()) {
    return;
  }
  if (found->descriptor >= 0) {
    close_for_host(found->descriptor);
  }
  all_.erase(found);
  news();
}

/// Until a child has ended or there is another one; or for that long, because of a child that only
/// stopped, or of another thread that took the news, we hear nothing.
void Children::sleep(int milliseconds) {
  std::vector<pollfd> looks;
  {
    const LockGuard guard(lock_);
    if (news_ < 0) {
      const Making making;
      news_ = static_cast<int>(syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
      keep_for_host(news_);
    }
    looks.push_back({news_, POLLIN, 0});
    for (const Child& each : all_) {
      looks.push_back({each.descriptor, POLLIN, 0});
    }
  }
  const Offloaded offloaded;
  syscall(SYS_poll, looks.data(), looks.size(), milliseconds);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = syscall(SYS_read, looks[0].fd, &count, sizeof count);
}

template <class Wanted, class EndOf>
int Children::wait_for(Wanted wanted, EndOf end_of, bool sleeps) {
  for (;;) {
    {
      const LockGuard guard(lock_);
      bool any = false;
      for (const Child& each : all_) {
        if (!wanted(each.pid)) {
          continue;
        }
        any = true;
        bool is_gone = false;
        const pid_t pid = each.pid;
        const int result = end_of(pid, is_gone);
        const int error = errno;
        if (is_gone) {
          remove(pid);
        }
        if (result != 0) {
          errno = error;
          return result;
        }
      }
      if (!any) {
        errno = ECHILD;
        return -1;
      }
    }
    if (!sleeps) {
      return 0;
    }
    sleep(look_again_ms);
  }
}

pid_t Children::wait(pid_t which, int* status, int flags, rusage* usage) {
  const auto wanted = [&](pid_t pid) {
    return which == -1 || which == pid ||
           (which <= 0 && getpgid(pid) == (which == 0 ? getpgrp() : -which));
  };
  int own = 0;
  const auto end_of = [&](pid_t pid, bool& is_gone) {
    const auto result = static_cast<pid_t>(syscall(SYS_wait4, pid, &own, flags | WNOHANG, usage));
    is_gone =
        (result == pid && (WIFEXITED(own) || WIFSIGNALED(own))) || (result < 0 && errno == ECHILD);
    return result;
  };
  const pid_t result = wait_for(wanted, end_of, (flags & WNOHANG) == 0);
  if (result > 0 && status != nullptr) {
    *status = own;
  }
  return result;
}

int Children::wait(idtype_t kind, id_t which, siginfo_t* info, int flags) {
  const auto wanted = [&](pid_t pid) {
    return kind == P_ALL || (kind == P_PID && static_cast<id_t>(pid) == which) ||
           (kind == P_PGID && getpgid(pid) == (which == 0 ? getpgrp() : static_cast<pid_t>(which)));
  };
  siginfo_t own{};
  const auto end_of = [&](pid_t pid, bool& is_gone) {
    own.si_pid = 0;
    const long result = syscall(SYS_waitid, P_PID, pid, &own, flags | WNOHANG, nullptr);
    const bool ended =
        own.si_code == CLD_EXITED || own.si_code == CLD_KILLED || own.si_code == CLD_DUMPED;
    is_gone = (result == 0 && own.si_pid != 0 && ended && (flags & WNOWAIT) == 0) ||
              (result < 0 && errno == ECHILD);
    return result < 0 ? -1 : own.si_pid != 0 ? 1 : 0;
  };
  const int result = wait_for(wanted, end_of, (flags & WNOHANG) == 0);
  if (result >= 0 && info != nullptr) {
    *info = own;
  }
  return std::min(result, 0);
}

pid_t Children::take_of_stream(const std::FILE* stream) {
  const LockGuard guard(lock_);
  for (Child& each : all_) {
    if (each.stream == stream) {
      each.stream = nullptr;
      return each.pid;
    }
  }
  return -1;
}

bool Children::is_of_stream(const std::FILE* stream) {
  const LockGuard guard(lock_);
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Child& each) { return each.stream == stream; });
}

void Children::forget_all() {
  const LockGuard guard(lock_);
  for (const Child& each : all_) {
    if (each.descriptor >= 0) {
      close_for_host(each.descriptor);
    }
  }
  all_.clear();
}

}  // namespace meantime::host
