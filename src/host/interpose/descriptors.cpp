// Calls on a descriptor, by the number that the rank knows it as. What may sleep is in
// blocking.cpp, what makes a descriptor in openers.cpp.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#include "host/interpose/offloaded.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

const char* followed(const char* path, int flags, char (&room)[32]) {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? path : own_path(path, room);
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

// One line a function, by how many arguments follow the descriptor.
#define ON_1(result, name, specifier)                     \
  MEANTIME_INTERPOSED result name(int number) specifier { \
    MEANTIME_REAL(name);                                  \
    return real(own_descriptor(number));                  \
  }
#define ON_2(result, name, specifier, A)                       \
  MEANTIME_INTERPOSED result name(int number, A a) specifier { \
    MEANTIME_REAL(name);                                       \
    return real(own_descriptor(number), a);                    \
  }
#define ON_3(result, name, specifier, A, B)                         \
  MEANTIME_INTERPOSED result name(int number, A a, B b) specifier { \
    MEANTIME_REAL(name);                                            \
    return real(own_descriptor(number), a, b);                      \
  }
#define ON_4(result, name, specifier, A, B, C)                           \
  MEANTIME_INTERPOSED result name(int number, A a, B b, C c) specifier { \
    MEANTIME_REAL(name);                                                 \
    return real(own_descriptor(number), a, b, c);                        \
  }
#define ON_5(result, name, specifier, A, B, C, D)                             \
  MEANTIME_INTERPOSED result name(int number, A a, B b, C c, D d) specifier { \
    MEANTIME_REAL(name);                                                      \
    return real(own_descriptor(number), a, b, c, d);                          \
  }

// Files
ON_2(int, fstat, noexcept, struct stat*)
ON_2(int, fstat64, noexcept, struct stat64*)
ON_2(int, fstatfs, noexcept, struct statfs*)
ON_2(int, fstatfs64, noexcept, struct statfs64*)
ON_2(int, fstatvfs, noexcept, struct statvfs*)
ON_2(int, fstatvfs64, noexcept, struct statvfs64*)
ON_3(off_t, lseek, noexcept, off_t, int)
ON_3(off64_t, lseek64, noexcept, off64_t, int)
ON_2(int, ftruncate, noexcept, off_t)
ON_2(int, ftruncate64, noexcept, off64_t)
ON_2(int, fchmod, noexcept, mode_t)
ON_3(int, fchown, noexcept, uid_t, gid_t)
ON_2(int, futimens, noexcept, const timespec*)
ON_2(int, futimes, noexcept, const timeval*)
ON_1(int, fsync, )
ON_1(int, fdatasync, )
ON_1(int, syncfs, noexcept)
ON_4(int, posix_fadvise, noexcept, off_t, off_t, int)
ON_4(int, posix_fadvise64, noexcept, off64_t, off64_t, int)
ON_3(int, posix_fallocate, , off_t, off_t)
ON_3(int, posix_fallocate64, , off64_t, off64_t)
ON_4(int, fallocate, , int, off_t, off_t)
ON_4(int, fallocate64, , int, off64_t, off64_t)
ON_3(ssize_t, readahead, noexcept, off64_t, size_t)
ON_2(long, fpathconf, noexcept, int)
ON_4(ssize_t, fgetxattr, noexcept, const char*, void*, size_t)
ON_5(int, fsetxattr, noexcept, const char*, const void*, size_t, int)

ON_3(ssize_t, flistxattr, noexcept, char*, size_t)
ON_2(int, fremovexattr, noexcept, const char*)
ON_4(ssize_t, vmsplice, , const iovec*, size_t, unsigned)
// From one to another; both are at hand as a rule, so a worker may wait.
#define FROM_TO(name, specifier, parameters, ...)         \
  MEANTIME_INTERPOSED ssize_t name parameters specifier { \
    MEANTIME_REAL(name);                                  \
    return real(own_descriptor(first), __VA_ARGS__);      \
  }
FROM_TO(sendfile, noexcept, (int first, int second, off_t* at, size_t bytes),
        own_descriptor(second), at, bytes)
FROM_TO(sendfile64, noexcept, (int first, int second, off64_t* at, size_t bytes),
        own_descriptor(second), at, bytes)
FROM_TO(copy_file_range, ,
        (int first, off64_t* from, int second, off64_t* to, size_t bytes, unsigned flags), from,
        own_descriptor(second), to, bytes, flags)
FROM_TO(splice, , (int first, off64_t* from, int second, off64_t* to, size_t bytes, unsigned flags),
        from, own_descriptor(second), to, bytes, flags)
FROM_TO(tee, , (int first, int second, size_t bytes, unsigned flags), own_descriptor(second), bytes,
        flags)

// Terminals
ON_1(int, isatty, noexcept)
ON_3(int, ttyname_r, noexcept, char*, size_t)
ON_2(int, tcgetattr, noexcept, termios*)
ON_3(int, tcsetattr, noexcept, int, const termios*)
ON_1(int, tcdrain, )
ON_2(int, tcflush, noexcept, int)
ON_2(int, tcflow, noexcept, int)
ON_2(int, tcsendbreak, noexcept, int)
ON_1(pid_t, tcgetpgrp, noexcept)
ON_2(int, tcsetpgrp, noexcept, pid_t)

// Sockets and what waits for others
ON_1(int, sockatmark, noexcept)
ON_4(int, sendmmsg, , mmsghdr*, unsigned, int)
ON_3(int, bind, noexcept, const sockaddr*, socklen_t)
ON_2(int, listen, noexcept, int)
ON_2(int, shutdown, noexcept, int)
ON_3(int, getsockname, noexcept, sockaddr*, socklen_t*)
ON_3(int, getpeername, noexcept, sockaddr*, socklen_t*)
ON_5(int, getsockopt, noexcept, int, int, void*, socklen_t*)
ON_5(int, setsockopt, noexcept, int, int, const void*, socklen_t)
ON_4(int, timerfd_settime, noexcept, int, const itimerspec*, itimerspec*)
ON_2(int, timerfd_gettime, noexcept, itimerspec*)
ON_3(int, inotify_add_watch, noexcept, const char*, uint32_t)
ON_2(int, inotify_rm_watch, noexcept, int)
MEANTIME_INTERPOSED int epoll_ctl(int set, int operation, int number, epoll_event* event) noexcept {
  MEANTIME_REAL(epoll_ctl);
  return real(own_descriptor(set), operation, own_descriptor(number), event);
}

// Memory
MEANTIME_INTERPOSED void* mmap(void* place, size_t bytes, int protection, int flags, int number,
                               off_t offset) noexcept {
  MEANTIME_REAL(mmap);
  return real(place, bytes, protection, flags, own_descriptor(number), offset);
}
MEANTIME_INTERPOSED void* mmap64(void* place, size_t bytes, int protection, int flags, int number,
                                 off64_t offset) noexcept {
  MEANTIME_REAL(mmap64);
  return real(place, bytes, protection, flags, own_descriptor(number), offset);
}

// Programs of before glibc 2.33 call fstat and fstatat by these.
extern "C" {
int __fxstat(int version, int number, struct stat* status) noexcept;
int __fxstat64(int version, int number, struct stat64* status) noexcept;
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags) noexcept;
int __fxstatat64(int version, int folder, const char* path, struct stat64* status,
                 int flags) noexcept;
}
MEANTIME_INTERPOSED int __fxstat(int version, int number, struct stat* status) noexcept {
  MEANTIME_REAL(__fxstat);
  return real(version, own_descriptor(number), status);
}
MEANTIME_INTERPOSED int __fxstat64(int version, int number, struct stat64* status) noexcept {
  MEANTIME_REAL(__fxstat64);
  return real(version, own_descriptor(number), status);
}
MEANTIME_INTERPOSED int __fxstatat(int version, int folder, const char* path, struct stat* status,
                                   int flags) noexcept {
  MEANTIME_REAL(__fxstatat);
  char room[32];
  return real(version, own_descriptor(folder), followed(path, flags, room), status, flags);
}
MEANTIME_INTERPOSED int __fxstatat64(int version, int folder, const char* path,
                                     struct stat64* status, int flags) noexcept {
  MEANTIME_REAL(__fxstatat64);
  char room[32];
  return real(version, own_descriptor(folder), followed(path, flags, room), status, flags);
}

MEANTIME_INTERPOSED int fstatat(int folder, const char* path, struct stat* status,
                                int flags) noexcept {
  MEANTIME_REAL(fstatat);
  char room[32];
  return real(own_descriptor(folder), followed(path, flags, room), status, flags);
}
MEANTIME_INTERPOSED int fstatat64(int folder, const char* path, struct stat64* status,
                                  int flags) noexcept {
  MEANTIME_REAL(fstatat64);
  char room[32];
  return real(own_descriptor(folder), followed(path, flags, room), status, flags);
}
MEANTIME_INTERPOSED int statx(int folder, const char* path, int flags, unsigned mask,
                              struct statx* status) noexcept {
  MEANTIME_REAL(statx);
  char room[32];
  return real(own_descriptor(folder), followed(path, flags, room), flags, mask, status);
}

// The numbers themselves

MEANTIME_INTERPOSED int close(int number) {
  if (mine() != nullptr) {
    return mine()->descriptors.close(number);
  }
  forget_own(number);
  MEANTIME_REAL(close);
  return real(number);
}
MEANTIME_INTERPOSED int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(close_range);
    return real(first, last, flags);
  }
  if (first > last) {
    errno = EINVAL;
    return -1;
  }
  mine()->descriptors.close_range(first, last, (flags & CLOSE_RANGE_CLOEXEC) != 0);
  return 0;
}
MEANTIME_INTERPOSED void closefrom(int first) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(closefrom);
    return real(first);
  }
  mine()->descriptors.close_range(first < 0 ? 0 : static_cast<unsigned>(first), ~0U, false);
}
MEANTIME_INTERPOSED int dup(int number) noexcept {
  if (mine() != nullptr) {
    return mine()->descriptors.duplicate(number, 0, false);
  }
  MEANTIME_REAL(dup);
  const Making making;
  return own_new(real(number));
}
MEANTIME_INTERPOSED int dup2(int from, int to) noexcept {
  if (mine() != nullptr) {
    return mine()->descriptors.put(from, to, false);
  }
  MEANTIME_REAL(dup2);
  return own_new(real(from, to));
}
MEANTIME_INTERPOSED int dup3(int from, int to, int flags) noexcept {
  if (mine() != nullptr) {
    if (from == to || (flags & ~O_CLOEXEC) != 0) {
      errno = EINVAL;
      return -1;
    }
    return mine()->descriptors.put(from, to, flags != 0);
  }
  MEANTIME_REAL(dup3);
  return own_new(real(from, to, flags));
}

namespace {

/// Record locks belong to a process; those of an open file belong to whoever opened it, which a
/// rank does for itself.
int own_lock(int command, void* argument) {
  if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) {
    static_cast<struct flock*>(argument)->l_pid = 0;  // the kernel insists
  }
  switch (command) {
    case F_SETLK:
      return F_OFD_SETLK;
    case F_SETLKW:
      return F_OFD_SETLKW;
    case F_GETLK:
      return F_OFD_GETLK;
    default:
      return command;
  }
}

template <typename Real>
int control(Real* real, int number, int command, void* argument) {
  if (mine() == nullptr) {
    const Making making;
    const int result = real(number, command, argument);
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? own_new(result) : result;
  }
  Descriptors& descriptors = mine()->descriptors;
  const int own = own_descriptor(number);
  const auto value = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return descriptors.duplicate(number, value, command == F_DUPFD_CLOEXEC);
    case F_GETFD:
      return real(own, F_GETFD, nullptr) < 0      ? -1
             : descriptors.closes_on_exec(number) ? FD_CLOEXEC
                                                  : 0;
    case F_SETFD:
      if (real(own, F_GETFD, nullptr) < 0) {
        return -1;
      }
      descriptors.set_closes_on_exec(number, (value & FD_CLOEXEC) != 0);
      return 0;
    default: {
      const Offloaded offloaded(command == F_SETLKW || command == F_OFD_SETLKW);
      return real(own, own_lock(command, argument), argument);
    }
  }
}

}  // namespace

MEANTIME_INTERPOSED int fcntl(int number, int command, ...) {
  MEANTIME_REAL(fcntl);
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return control(real, number, command, argument);
}
MEANTIME_INTERPOSED int fcntl64(int number, int command, ...) {
  MEANTIME_REAL(fcntl64);
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return control(real, number, command, argument);
}
MEANTIME_INTERPOSED int ioctl(int number, unsigned long request, ...) noexcept {
  MEANTIME_REAL(ioctl);
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  const int own = own_descriptor(number);
  if (mine() != nullptr && (request == FIOCLEX || request == FIONCLEX)) {
    mine()->descriptors.set_closes_on_exec(number, request == FIOCLEX);
    return 0;
  }
  return real(own, request, argument);
}
