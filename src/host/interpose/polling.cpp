// Calls that wait for one of several descriptors, by the numbers that the rank knows them as.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <vector>

#include "host/interpose/offloaded.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

/// `call` gets the places and is offloaded if it may sleep.
template <class Call>
int poll_places(pollfd* looks, nfds_t count, bool sleeps, Call call) {
  std::vector<pollfd> own(looks, looks + count);
  for (pollfd& each : own) {
    const int number = each.fd;
    each.fd = own_descriptor(number);
    if (each.fd < 0 && number >= 0) {
      each.fd = INT_MAX;  // closed; a negative one would be passed over
    }
  }
  const Offloaded offloaded(sleeps && syscall(SYS_poll, own.data(), count, 0) == 0, count == 0);
  const int result = call(own.data(), count);
  for (nfds_t i = 0; i < count; ++i) {
    looks[i].revents = own[i].revents;
  }
  return result;
}

constexpr short readable = POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR;
constexpr short writable = POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR;
constexpr short urgent = POLLPRI;

/// select by way of poll, as the kernel has it: the places may be larger than a set has room for.
int select_by_poll(int count, fd_set* in, fd_set* out, fd_set* other, const timespec* limit,
                   const sigset_t* mask) {
  std::vector<pollfd> looks;
  for (int number = 0; number < count; ++number) {
    const auto has = [&](const fd_set* set) { return set != nullptr && FD_ISSET(number, set); };
    const short events = static_cast<short>((has(in) ? POLLIN | POLLRDNORM | POLLRDBAND : 0) |
                                            (has(out) ? POLLOUT | POLLWRNORM | POLLWRBAND : 0) |
                                            (has(other) ? POLLPRI : 0));
    if (events != 0) {
      looks.push_back({number, events, 0});
    }
  }
  if (ppoll(looks.data(), looks.size(), limit, mask) < 0) {
    return -1;
  }
  for (const pollfd& each : looks) {
    if ((each.revents & POLLNVAL) != 0) {
      errno = EBADF;
      return -1;
    }
  }
  int result = 0;
  for (const pollfd& each : looks) {
    const auto tell = [&](fd_set* set, short wanted, short found) {
      if (set == nullptr || (each.events & wanted) == 0) {
        return;
      }
      if ((each.revents & found) != 0) {
        ++result;
      } else {
        FD_CLR(each.fd, set);
      }
    };
    tell(in, POLLIN, readable);
    tell(out, POLLOUT, writable);
    tell(other, POLLPRI, urgent);
  }
  return result;
}

constexpr std::int64_t billion = 1'000'000'000;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * billion + time.tv_nsec;
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED int poll(pollfd* looks, nfds_t count, int milliseconds) {
  MEANTIME_REAL(poll);
  if (mine() == nullptr) {
    return real(looks, count, milliseconds);
  }
  return poll_places(looks, count, milliseconds != 0, [&](pollfd* own, nfds_t own_count) {
    return real(own, own_count, milliseconds);
  });
}
MEANTIME_INTERPOSED int ppoll(pollfd* looks, nfds_t count, const timespec* limit,
                              const sigset_t* mask) {
  MEANTIME_REAL(ppoll);
  if (mine() == nullptr) {
    return real(looks, count, limit, mask);
  }
  const bool sleeps = limit == nullptr || limit->tv_sec != 0 || limit->tv_nsec != 0;
  return poll_places(looks, count, sleeps, [&](pollfd* own, nfds_t own_count) {
    return real(own, own_count, limit, mask);
  });
}
// Of fortified programs.
extern "C" [[noreturn]] void __chk_fail() noexcept;
MEANTIME_INTERPOSED int __poll_chk(pollfd* looks, nfds_t count, int milliseconds, size_t room) {
  if (room / sizeof *looks < count) {
    __chk_fail();
  }
  return poll(looks, count, milliseconds);
}
MEANTIME_INTERPOSED int __ppoll_chk(pollfd* looks, nfds_t count, const timespec* limit,
                                    const sigset_t* mask, size_t room) {
  if (room / sizeof *looks < count) {
    __chk_fail();
  }
  return ppoll(looks, count, limit, mask);
}
MEANTIME_INTERPOSED int select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* limit) {
  MEANTIME_REAL(select);
  if (mine() == nullptr) {
    return real(count, in, out, other, limit);
  }
  if (count < 0 || (limit != nullptr && (limit->tv_sec < 0 || limit->tv_usec < 0))) {
    errno = EINVAL;
    return -1;
  }
  timespec time{};
  if (limit != nullptr) {
    time = {limit->tv_sec + limit->tv_usec / 1'000'000, limit->tv_usec % 1'000'000 * 1000};
  }
  const std::int64_t begin = now_ns();
  const int result =
      select_by_poll(count, in, out, other, limit != nullptr ? &time : nullptr, nullptr);
  if (limit != nullptr) {  // Linux tells how much of it is left
    const std::int64_t left =
        time.tv_sec > INT_MAX ? 0 : time.tv_sec * billion + time.tv_nsec - (now_ns() - begin);
    const std::int64_t some = left > 0 && result != 0 ? left : 0;
    *limit = {some / billion, some % billion / 1000};
  }
  return result;
}
MEANTIME_INTERPOSED int pselect(int count, fd_set* in, fd_set* out, fd_set* other,
                                const timespec* limit, const sigset_t* mask) {
  MEANTIME_REAL(pselect);
  return mine() == nullptr ? real(count, in, out, other, limit, mask)
                           : select_by_poll(count, in, out, other, limit, mask);
}
MEANTIME_INTERPOSED int epoll_wait(int set, epoll_event* events, int count, int limit) {
  MEANTIME_REAL(epoll_wait);
  const int own = own_descriptor(set);
  const Offloaded offloaded(limit != 0 && would_sleep(own, POLLIN));
  return real(own, events, count, limit);
}
MEANTIME_INTERPOSED int epoll_pwait(int set, epoll_event* events, int count, int limit,
                                    const sigset_t* mask) {
  MEANTIME_REAL(epoll_pwait);
  const int own = own_descriptor(set);
  const Offloaded offloaded(limit != 0 && would_sleep(own, POLLIN));
  return real(own, events, count, limit, mask);
}
