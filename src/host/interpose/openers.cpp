// Calls that make a descriptor: it becomes the rank's, by the lowest standard number that the rank
// has closed, if there is one. (Streams and folders: files.cpp; children's pipes:
// children.cpp.)
#include <dlfcn.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pty.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstring>

#include "host/interpose/offloaded.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

using namespace meantime::host;

// After the last parameter that has a name; no harm if none was given.
#define TAKE_MODE(last)                     \
  va_list more;                             \
  va_start(more, last);                     \
  const mode_t mode = va_arg(more, mode_t); \
  va_end(more)
#define OPENS(name)                                                \
  MEANTIME_INTERPOSED int name(const char* path, int flags, ...) { \
    MEANTIME_REAL(name);                                           \
    TAKE_MODE(flags);                                              \
    char room[32];                                                 \
    const Making making;                                           \
    return own_new(real(own_path(path, room), flags, mode));       \
  }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name)                                                               \
  MEANTIME_INTERPOSED int name(int folder, const char* path, int flags, ...) {       \
    MEANTIME_REAL(name);                                                             \
    TAKE_MODE(flags);                                                                \
    char room[32];                                                                   \
    const Making making;                                                             \
    return own_new(real(own_descriptor(folder), own_path(path, room), flags, mode)); \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

// What the headers of a fortified program make of them.
MEANTIME_INTERPOSED int __open_2(const char* path, int flags) {
  return open(path, flags);
}
MEANTIME_INTERPOSED int __open64_2(const char* path, int flags) {
  return open64(path, flags);
}
MEANTIME_INTERPOSED int __openat_2(int folder, const char* path, int flags) {
  return openat(folder, path, flags);
}
MEANTIME_INTERPOSED int __openat64_2(int folder, const char* path, int flags) {
  return openat64(folder, path, flags);
}

#define MAKES(name, parameters, arguments, specifier) \
  MEANTIME_INTERPOSED int name parameters specifier { \
    MEANTIME_REAL(name);                              \
    const Making making;                              \
    return own_new(real arguments);                   \
  }
MAKES(creat, (const char* path, mode_t mode), (path, mode), )
MAKES(creat64, (const char* path, mode_t mode), (path, mode), )
MAKES(mkstemp, (char* path), (path), )
MAKES(mkstemp64, (char* path), (path), )
MAKES(mkostemp, (char* path, int flags), (path, flags), )
MAKES(mkostemp64, (char* path, int flags), (path, flags), )
MAKES(mkstemps, (char* path, int length), (path, length), )
MAKES(mkstemps64, (char* path, int length), (path, length), )
MAKES(mkostemps, (char* path, int length, int flags), (path, length, flags), )
MAKES(mkostemps64, (char* path, int length, int flags), (path, length, flags), )
MAKES(socket, (int domain, int type, int protocol), (domain, type, protocol), noexcept)
MAKES(epoll_create, (int size), (size), noexcept)
MAKES(epoll_create1, (int flags), (flags), noexcept)
MAKES(eventfd, (unsigned count, int flags), (count, flags), noexcept)
MAKES(timerfd_create, (clockid_t clock, int flags), (clock, flags), noexcept)
MAKES(inotify_init, (), (), noexcept)
MAKES(inotify_init1, (int flags), (flags), noexcept)
MAKES(memfd_create, (const char* name, unsigned flags), (name, flags), noexcept)
MAKES(shm_open, (const char* name, int flags, mode_t mode), (name, flags, mode), )
MAKES(posix_openpt, (int flags), (flags), )

namespace {

/// Two at once: the first has the lower number.
int own_new_pair(int result, int* ends) {
  if (result == 0) {
    ends[0] = own_new(ends[0]);
    ends[1] = own_new(ends[1]);
  }
  return result;
}

}  // namespace

extern "C" __attribute__((weak)) void __sanitizer_print_stack_trace();

namespace {

/// UBSan finds out by a pipe whether memory can be read, and closes it past libc. As the rank's it
/// would be closed once more at the rank's end, when its number is another rank's pipe already.
bool is_of_sanitizer(const void* caller) {
  Dl_info module{};
  return &__sanitizer_print_stack_trace != nullptr && dladdr(caller, &module) != 0 &&
         std::strstr(module.dli_fname, "san.so") != nullptr;
}

}  // namespace

MEANTIME_INTERPOSED int pipe(int* ends) noexcept {
  MEANTIME_REAL(pipe);
  if (is_of_sanitizer(__builtin_return_address(0))) {
    return real(ends);
  }
  const Making making;
  return own_new_pair(real(ends), ends);
}
MEANTIME_INTERPOSED int pipe2(int* ends, int flags) noexcept {
  MEANTIME_REAL(pipe2);
  const Making making;
  return own_new_pair(real(ends, flags), ends);
}
MEANTIME_INTERPOSED int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  MEANTIME_REAL(socketpair);
  const Making making;
  return own_new_pair(real(domain, type, protocol, ends), ends);
}
MEANTIME_INTERPOSED int openpty(int* first, int* second, char* name, const termios* terminal,
                                const winsize* size) noexcept {
  MEANTIME_REAL(openpty);
  const Making making;
  const int result = real(first, second, name, terminal, size);
  if (result == 0) {
    *first = own_new(*first);
    *second = own_new(*second);
  }
  return result;
}

namespace {

/// Descriptors that came with a message.
ssize_t own_new_in(ssize_t result, msghdr* message) {
  if (result < 0 || mine() == nullptr || message->msg_control == nullptr) {
    return result;
  }
  for (cmsghdr* each = CMSG_FIRSTHDR(message); each != nullptr; each = CMSG_NXTHDR(message, each)) {
    if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS) {
      auto* const places = reinterpret_cast<int*>(CMSG_DATA(each));
      const size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        places[i] = own_new(places[i]);
      }
    }
  }
  return result;
}

}  // namespace

MEANTIME_INTERPOSED ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  MEANTIME_REAL(recvmsg);
  const int own = own_descriptor(descriptor);
  const Offloaded offloaded((flags & MSG_DONTWAIT) == 0 && would_sleep(own, POLLIN));
  const Making making;
  return own_new_in(real(own, message, flags), message);
}
MEANTIME_INTERPOSED int accept(int descriptor, sockaddr* address, socklen_t* bytes) {
  MEANTIME_REAL(accept);
  const int own = own_descriptor(descriptor);
  const Offloaded offloaded(would_sleep(own, POLLIN));
  const Making making;
  return own_new(real(own, address, bytes));
}
MEANTIME_INTERPOSED int accept4(int descriptor, sockaddr* address, socklen_t* bytes, int flags) {
  MEANTIME_REAL(accept4);
  const int own = own_descriptor(descriptor);
  const Offloaded offloaded(would_sleep(own, POLLIN));
  const Making making;
  return own_new(real(own, address, bytes, flags));
}
