// Calls in which a rank may sleep in the kernel: its own thread makes them, and its worker runs the
// others meanwhile (Elsewhere in src/rank/worker.h). Going and coming back costs two wake-ups of a
// kernel thread, so a call goes elsewhere only if it would really sleep, as far as that can be
// seen.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "host/elsewhere.h"
#include "host/own_descriptor.h"
#include "host/rank_state.h"
#include "rank/host.h"

namespace meantime::host {
namespace {

/// True if the descriptor is none of a file or has nothing for us yet.
bool would_sleep(int descriptor, short events) {
  if (mine() == nullptr) {
    return false;
  }
  pollfd look{descriptor, events, 0};
  MEANTIME_REAL(poll);
  return real(&look, 1, 0) == 0;
}

/// One of the calls that move bytes, on the rank's own descriptor of that number.
template <typename Real, typename... Words>
ssize_t transfer(Real* real, short events, int descriptor, Words... words) {
  const int own = own_descriptor(descriptor);
  const Elsewhere elsewhere(would_sleep(own, events));
  return real(own, words...);
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_IN_FRONT ssize_t read(int descriptor, void* to, size_t bytes) {
  MEANTIME_REAL(read);
  return transfer(real, POLLIN, descriptor, to, bytes);
}
MEANTIME_IN_FRONT ssize_t readv(int descriptor, const iovec* pieces, int count) {
  MEANTIME_REAL(readv);
  return transfer(real, POLLIN, descriptor, pieces, count);
}
MEANTIME_IN_FRONT ssize_t write(int descriptor, const void* from, size_t bytes) {
  MEANTIME_REAL(write);
  return transfer(real, POLLOUT, descriptor, from, bytes);
}
MEANTIME_IN_FRONT ssize_t writev(int descriptor, const iovec* pieces, int count) {
  MEANTIME_REAL(writev);
  return transfer(real, POLLOUT, descriptor, pieces, count);
}
MEANTIME_IN_FRONT ssize_t recv(int descriptor, void* to, size_t bytes, int flags) {
  MEANTIME_REAL(recv);
  const Elsewhere elsewhere(would_sleep(descriptor, POLLIN));
  return real(descriptor, to, bytes, flags);
}
MEANTIME_IN_FRONT int accept(int descriptor, sockaddr* address, socklen_t* bytes) {
  MEANTIME_REAL(accept);
  const Elsewhere elsewhere(would_sleep(descriptor, POLLIN));
  return real(descriptor, address, bytes);
}
MEANTIME_IN_FRONT int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  MEANTIME_REAL(poll);
  if (mine() == nullptr) {
    return real(descriptors, count, milliseconds);
  }
  std::vector<pollfd> own(descriptors, descriptors + count);
  for (pollfd& each : own) {
    each.fd = own_descriptor(each.fd);
  }
  int result;
  {
    const Elsewhere elsewhere(milliseconds != 0);
    result = real(own.data(), count, milliseconds);
  }
  for (nfds_t i = 0; i < count; ++i) {
    descriptors[i].revents = own[i].revents;
  }
  return result;
}
MEANTIME_IN_FRONT int select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* limit) {
  MEANTIME_REAL(select);
  const Elsewhere elsewhere(limit == nullptr || limit->tv_sec != 0 || limit->tv_usec != 0);
  return real(count, in, out, other, limit);
}
MEANTIME_IN_FRONT int epoll_wait(int descriptor, epoll_event* events, int count, int limit) {
  MEANTIME_REAL(epoll_wait);
  const Elsewhere elsewhere(limit != 0);
  return real(descriptor, events, count, limit);
}
MEANTIME_IN_FRONT int nanosleep(const timespec* time, timespec* left) {
  MEANTIME_REAL(nanosleep);
  const Elsewhere elsewhere;
  return real(time, left);
}
MEANTIME_IN_FRONT int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                      timespec* left) {
  MEANTIME_REAL(clock_nanosleep);
  const Elsewhere elsewhere;
  return real(clock, flags, time, left);
}
MEANTIME_IN_FRONT int usleep(useconds_t microseconds) {
  MEANTIME_REAL(usleep);
  const Elsewhere elsewhere;
  return real(microseconds);
}
MEANTIME_IN_FRONT unsigned sleep(unsigned seconds) {
  MEANTIME_REAL(sleep);
  const Elsewhere elsewhere;
  return real(seconds);
}
MEANTIME_IN_FRONT int pause() {
  MEANTIME_REAL(pause);
  const Elsewhere elsewhere;
  return real();
}
MEANTIME_IN_FRONT pid_t waitpid(pid_t pid, int* status, int flags) {
  MEANTIME_REAL(waitpid);
  const Elsewhere elsewhere((flags & WNOHANG) == 0);
  return real(pid, status, flags);
}
/// A rank that only yields lets the others of its worker run.
MEANTIME_IN_FRONT int sched_yield() noexcept {
  MEANTIME_REAL(sched_yield);
  return mine() != nullptr && meantime_host_yield() != 0 ? 0 : real();
}
