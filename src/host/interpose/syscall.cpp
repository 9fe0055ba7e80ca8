// System calls that a program makes by syscall(2), past libc's functions: those that the host
// interposes go the same way, descriptors are the rank's, waits leave the worker to others,
// and what belongs to the process is refused, with one line for the user. (What a program asks the
// kernel in assembly is its own affair: nobody sees it, but for the monitor when it lasts.)
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <iterator>

#include "host/interpose/lookup.h"
#include "host/interpose/offloaded.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

/// Whose first argument is a descriptor, and that nobody waits in for long.
constexpr long on_descriptor[] = {SYS_fstat,
                                  SYS_lseek,
                                  SYS_fsync,
                                  SYS_fdatasync,
                                  SYS_ftruncate,
                                  SYS_fallocate,
                                  SYS_fadvise64,
                                  SYS_getdents64,
                                  SYS_fchmod,
                                  SYS_fchown,
                                  SYS_fstatfs,
                                  SYS_syncfs,
                                  SYS_shutdown,
                                  SYS_bind,
                                  SYS_listen,
                                  SYS_getsockname,
                                  SYS_getpeername,
                                  SYS_setsockopt,
                                  SYS_getsockopt,
                                  SYS_fgetxattr,
                                  SYS_fsetxattr,
                                  SYS_flistxattr,
                                  SYS_readahead,
                                  SYS_sync_file_range,
                                  SYS_mkdirat,
                                  SYS_unlinkat,
                                  SYS_readlinkat,
                                  SYS_newfstatat,
                                  SYS_faccessat,
                                  SYS_fchmodat,
                                  SYS_fchownat,
                                  SYS_utimensat,
                                  SYS_statx,
                                  SYS_timerfd_settime,
                                  SYS_timerfd_gettime,
                                  SYS_inotify_add_watch,
                                  SYS_inotify_rm_watch,
                                  SYS_fremovexattr};

/// That would be about all ranks, or about the kernel thread that runs them in turn.
constexpr long of_process[] = {SYS_fork,
                               SYS_vfork,
                               SYS_clone,
                               SYS_execve,
                               SYS_execveat,
                               SYS_rt_sigaction,
                               SYS_rt_sigprocmask,
                               SYS_rt_sigtimedwait,
                               SYS_rt_sigsuspend,
                               SYS_sigaltstack,
                               SYS_setitimer,
                               SYS_alarm,
                               SYS_timer_create,
                               SYS_chroot,
                               SYS_unshare,
                               SYS_setns,
                               SYS_setuid,
                               SYS_setgid,
                               SYS_setreuid,
                               SYS_setregid,
                               SYS_setresuid,
                               SYS_setresgid,
                               SYS_setgroups,
                               SYS_setsid,
                               SYS_setpgid,
                               SYS_setfsuid,
                               SYS_setfsgid,
                               SYS_capset,
                               SYS_setrlimit,
                               SYS_sched_setaffinity,
                               SYS_sched_setscheduler,
                               SYS_sched_setparam,
                               SYS_sched_setattr,
                               SYS_setpriority,
                               SYS_prctl,
                               SYS_arch_prctl,
                               SYS_personality,
                               SYS_ptrace,
                               SYS_signalfd,
                               SYS_signalfd4,
                               SYS_set_robust_list,
                               SYS_set_tid_address,
                               SYS_brk};

template <std::size_t N>
bool is_one_of(const long (&list)[N], long number) {
  return std::find(std::begin(list), std::end(list), number) != std::end(list);
}

long refuse(long number) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    char line[200];
    const int length = std::snprintf(
        line, sizeof line,
        "mpiexec: rank %d made system call %ld by syscall(): it belongs to the process, and is "
        "refused to thread ranks\n",
        mine()->world_rank, number);
    MEANTIME_REAL(write);
    real(STDERR_FILENO, line, static_cast<std::size_t>(length));
  }
  errno = ENOSYS;
  return -1;
}

/// A futex that is waited for; only if it still has the value, which the kernel looks at again.
bool waits(const long (&words)[6]) {
  const int operation = static_cast<int>(words[1]) & FUTEX_CMD_MASK;
  if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) {
    return operation == FUTEX_LOCK_PI || operation == FUTEX_WAIT_REQUEUE_PI;
  }
  const auto* const word = reinterpret_cast<const std::atomic<int>*>(words[0]);
  return word != nullptr && word->load() == static_cast<int>(words[2]);
}

template <class T>
T* pointer(long word) {
  return reinterpret_cast<T*>(word);
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

long system_call_of_rank(long number, ...) {
  long words[6];
  va_list more;
  va_start(more, number);
  for (long& word : words) {
    word = va_arg(more, long);
  }
  va_end(more);
  const auto [a, b, c, d, e, f] = words;
  if (mine() == nullptr) {
    return syscall(number, a, b, c, d, e, f);
  }
  const int first = static_cast<int>(a);
  const auto bytes = static_cast<size_t>(c);
  switch (number) {
    case SYS_read:
      return read(first, pointer<void>(b), bytes);
    case SYS_write:
      return write(first, pointer<void>(b), bytes);
    case SYS_readv:
      return readv(first, pointer<iovec>(b), static_cast<int>(c));
    case SYS_writev:
      return writev(first, pointer<iovec>(b), static_cast<int>(c));
    case SYS_pread64:
      return pread64(first, pointer<void>(b), bytes, d);
    case SYS_pwrite64:
      return pwrite64(first, pointer<void>(b), bytes, d);
    case SYS_close:
      return close(first);
    case SYS_dup:
      return dup(first);
    case SYS_dup2:
      return dup2(first, static_cast<int>(b));
    case SYS_dup3:
      return dup3(first, static_cast<int>(b), static_cast<int>(c));
    case SYS_fcntl:
      return fcntl(first, static_cast<int>(b), c);
    case SYS_ioctl:
      return ioctl(first, static_cast<unsigned long>(b), c);
    case SYS_open:
      return open(pointer<char>(a), static_cast<int>(b), static_cast<mode_t>(c));
    case SYS_openat:
      return openat(first, pointer<char>(b), static_cast<int>(c), static_cast<mode_t>(d));
    case SYS_poll:
      return poll(pointer<pollfd>(a), static_cast<nfds_t>(b), static_cast<int>(c));
    case SYS_select:
      return select(first, pointer<fd_set>(b), pointer<fd_set>(c), pointer<fd_set>(d),
                    pointer<timeval>(e));
    case SYS_epoll_wait:
      return epoll_wait(first, pointer<epoll_event>(b), static_cast<int>(c), static_cast<int>(d));
    case SYS_epoll_ctl:
      return epoll_ctl(first, static_cast<int>(b), static_cast<int>(c), pointer<epoll_event>(d));
    case SYS_recvfrom:
      return recvfrom(first, pointer<void>(b), bytes, static_cast<int>(d), pointer<sockaddr>(e),
                      pointer<socklen_t>(f));
    case SYS_sendto:
      return sendto(first, pointer<void>(b), bytes, static_cast<int>(d), pointer<sockaddr>(e),
                    static_cast<socklen_t>(f));
    case SYS_recvmsg:
      return recvmsg(first, pointer<msghdr>(b), static_cast<int>(c));
    case SYS_sendmsg:
      return sendmsg(first, pointer<msghdr>(b), static_cast<int>(c));
    case SYS_connect:
      return connect(first, pointer<sockaddr>(b), static_cast<socklen_t>(c));
    case SYS_accept:
      return accept(first, pointer<sockaddr>(b), pointer<socklen_t>(c));
    case SYS_wait4:
      return wait4(first, pointer<int>(b), static_cast<int>(c), pointer<rusage>(d));
    case SYS_nanosleep:
      return nanosleep(pointer<timespec>(a), pointer<timespec>(b));
    case SYS_sched_yield:
      return sched_yield();
    case SYS_chdir:
      return chdir(pointer<char>(a));
    case SYS_fchdir:
      return fchdir(first);
    case SYS_umask:
      return static_cast<long>(umask(static_cast<mode_t>(a)));
    case SYS_exit_group:
      _exit(first);
    case SYS_futex: {
      const Offloaded offloaded(waits(words));
      return syscall(number, a, b, c, d, e, f);
    }
    case SYS_clock_nanosleep: {
      const Nap nap;
      return syscall(number, a, b, c, d, e, f);
    }
    default:
      break;
  }
  if (is_one_of(of_process, number)) {
    return refuse(number);
  }
  return syscall(number, is_one_of(on_descriptor, number) ? own_descriptor(first) : a, b, c, d, e,
                 f);
}
