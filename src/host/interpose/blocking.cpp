// Calls in which a rank may sleep in the kernel: its own thread makes them, and its worker runs the
// others meanwhile (Offloaded in src/scheduling/worker.h). Going and coming back costs two wake-ups
// of a kernel thread, so a call is offloaded only if it would really sleep, as far as that can be
// seen. (Those that make a descriptor are in openers.cpp, those for several descriptors in
// polling.cpp, those for children in children.cpp.)
#include <aio.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "host/interpose/offloaded.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"
#include "protocol/host_interface.h"

namespace meantime::host {
namespace {

/// One of the calls that move bytes, on the rank's own descriptor of that number.
template <typename Real, typename... Words>
ssize_t transfer(Real* real, short events, int flags, int number, Words... words) {
  const int own = own_descriptor(number);
  const Offloaded offloaded((flags & MSG_DONTWAIT) == 0 && would_sleep(own, events));
  return real(own, words...);
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

#define MOVES(name, events, flags, parameters, ...)    \
  MEANTIME_INTERPOSED ssize_t name parameters {        \
    MEANTIME_REAL(name);                               \
    return transfer(real, events, flags, __VA_ARGS__); \
  }
MOVES(read, POLLIN, 0, (int number, void* to, size_t bytes), number, to, bytes)
MOVES(readv, POLLIN, 0, (int number, const iovec* pieces, int count), number, pieces, count)
MOVES(write, POLLOUT, 0, (int number, const void* from, size_t bytes), number, from, bytes)
MOVES(writev, POLLOUT, 0, (int number, const iovec* pieces, int count), number, pieces, count)
MOVES(recv, POLLIN, flags, (int number, void* to, size_t bytes, int flags), number, to, bytes,
      flags)
MOVES(recvfrom, POLLIN, flags,
      (int number, void* to, size_t bytes, int flags, sockaddr* address, socklen_t* length), number,
      to, bytes, flags, address, length)
MOVES(send, POLLOUT, flags, (int number, const void* from, size_t bytes, int flags), number, from,
      bytes, flags)
MOVES(sendto, POLLOUT, flags,
      (int number, const void* from, size_t bytes, int flags, const sockaddr* address,
       socklen_t length),
      number, from, bytes, flags, address, length)
MOVES(sendmsg, POLLOUT, flags, (int number, const msghdr* message, int flags), number, message,
      flags)
// At a place of a file: never sleep as those above do.
MOVES(pread, 0, MSG_DONTWAIT, (int number, void* to, size_t bytes, off_t at), number, to, bytes, at)
MOVES(pread64, 0, MSG_DONTWAIT, (int number, void* to, size_t bytes, off64_t at), number, to, bytes,
      at)
MOVES(pwrite, 0, MSG_DONTWAIT, (int number, const void* from, size_t bytes, off_t at), number, from,
      bytes, at)
MOVES(pwrite64, 0, MSG_DONTWAIT, (int number, const void* from, size_t bytes, off64_t at), number,
      from, bytes, at)
MOVES(preadv, 0, MSG_DONTWAIT, (int number, const iovec* pieces, int count, off_t at), number,
      pieces, count, at)
MOVES(pwritev, 0, MSG_DONTWAIT, (int number, const iovec* pieces, int count, off_t at), number,
      pieces, count, at)

// Of fortified programs; the sizes were checked where they could be.
extern "C" [[noreturn]] void __chk_fail() noexcept;
MEANTIME_INTERPOSED ssize_t __read_chk(int number, void* to, size_t bytes, size_t room) {
  if (bytes > room) {
    __chk_fail();
  }
  return read(number, to, bytes);
}
MEANTIME_INTERPOSED ssize_t __pread_chk(int number, void* to, size_t bytes, off_t at, size_t room) {
  if (bytes > room) {
    __chk_fail();
  }
  return pread(number, to, bytes, at);
}
MEANTIME_INTERPOSED ssize_t __pread64_chk(int number, void* to, size_t bytes, off64_t at,
                                          size_t room) {
  if (bytes > room) {
    __chk_fail();
  }
  return pread64(number, to, bytes, at);
}
MEANTIME_INTERPOSED ssize_t __recv_chk(int number, void* to, size_t bytes, size_t room, int flags) {
  if (bytes > room) {
    __chk_fail();
  }
  return recv(number, to, bytes, flags);
}
MEANTIME_INTERPOSED ssize_t __recvfrom_chk(int number, void* to, size_t bytes, size_t room,
                                           int flags, sockaddr* address, socklen_t* length) {
  if (bytes > room) {
    __chk_fail();
  }
  return recvfrom(number, to, bytes, flags, address, length);
}

MEANTIME_INTERPOSED int connect(int number, const sockaddr* address, socklen_t length) {
  MEANTIME_REAL(connect);
  const int own = own_descriptor(number);
  const Offloaded offloaded(mine() != nullptr &&
                            (syscall(SYS_fcntl, own, F_GETFL) & O_NONBLOCK) == 0);
  return real(own, address, length);
}
MEANTIME_INTERPOSED int flock(int number, int operation) noexcept {
  MEANTIME_REAL(flock);
  const int own = own_descriptor(number);
  if (mine() != nullptr && (operation & LOCK_NB) == 0) {
    const int result = real(own, operation | LOCK_NB);
    if (result == 0 || errno != EWOULDBLOCK) {
      return result;
    }
  }
  const Offloaded offloaded((operation & LOCK_NB) == 0);
  return real(own, operation);
}

MEANTIME_INTERPOSED int nanosleep(const timespec* time, timespec* left) {
  MEANTIME_REAL(nanosleep);
  const Nap nap;
  return real(time, left);
}
MEANTIME_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                        timespec* left) {
  MEANTIME_REAL(clock_nanosleep);
  const Nap nap;
  return real(clock, flags, time, left);
}
MEANTIME_INTERPOSED int usleep(useconds_t microseconds) {
  MEANTIME_REAL(usleep);
  const Nap nap;
  return real(microseconds);
}
MEANTIME_INTERPOSED unsigned sleep(unsigned seconds) {
  MEANTIME_REAL(sleep);
  const Nap nap;
  return real(seconds);
}
MEANTIME_INTERPOSED int thrd_sleep(const timespec* time, timespec* left) {
  MEANTIME_REAL(thrd_sleep);
  const Nap nap;
  return real(time, left);
}
MEANTIME_INTERPOSED int pause() {
  MEANTIME_REAL(pause);
  const Offloaded offloaded;
  return real();
}

// Other threads of the rank. (A mutex is mostly free, and one that is not is left to the monitor.)
MEANTIME_INTERPOSED int pthread_join(pthread_t thread, void** result) {
  MEANTIME_REAL(pthread_join);
  const Offloaded offloaded;
  return real(thread, result);
}
MEANTIME_INTERPOSED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  MEANTIME_REAL(pthread_cond_wait);
  const Offloaded offloaded;
  return real(condition, mutex);
}
MEANTIME_INTERPOSED int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                               const timespec* until) {
  MEANTIME_REAL(pthread_cond_timedwait);
  const Offloaded offloaded;
  return real(condition, mutex, until);
}
MEANTIME_INTERPOSED int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  MEANTIME_REAL(pthread_barrier_wait);
  const Offloaded offloaded;
  return real(barrier);
}
MEANTIME_INTERPOSED int sem_wait(sem_t* semaphore) {
  MEANTIME_REAL(sem_wait);
  if (mine() != nullptr && sem_trywait(semaphore) == 0) {
    return 0;
  }
  const Offloaded offloaded;
  return real(semaphore);
}
MEANTIME_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* until) {
  MEANTIME_REAL(sem_timedwait);
  if (mine() != nullptr && sem_trywait(semaphore) == 0) {
    return 0;
  }
  const Offloaded offloaded;
  return real(semaphore, until);
}
MEANTIME_INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  MEANTIME_REAL(sem_clockwait);
  if (mine() != nullptr && sem_trywait(semaphore) == 0) {
    return 0;
  }
  const Offloaded offloaded;
  return real(semaphore, clock, until);
}

/// One line a function that is offloaded for its whole time.
#define SLEEPS(result, name, parameters, arguments, specifier) \
  MEANTIME_INTERPOSED result name parameters specifier {       \
    MEANTIME_REAL(name);                                       \
    const Offloaded offloaded;                                 \
    return real arguments;                                     \
  }
SLEEPS(int, pthread_timedjoin_np, (pthread_t thread, void** result, const timespec* until),
       (thread, result, until), )
SLEEPS(int, pthread_clockjoin_np,
       (pthread_t thread, void** result, clockid_t clock, const timespec* until),
       (thread, result, clock, until), )
SLEEPS(int, pthread_cond_clockwait,
       (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until),
       (condition, mutex, clock, until), )
SLEEPS(int, thrd_join, (thrd_t thread, int* result), (thread, result), )
SLEEPS(int, cnd_wait, (cnd_t * condition, mtx_t* mutex), (condition, mutex), )
SLEEPS(int, cnd_timedwait, (cnd_t * condition, mtx_t* mutex, const timespec* until),
       (condition, mutex, until), )
SLEEPS(ssize_t, mq_receive, (mqd_t queue, char* to, size_t bytes, unsigned* priority),
       (own_descriptor(queue), to, bytes, priority), )
SLEEPS(ssize_t, mq_timedreceive,
       (mqd_t queue, char* to, size_t bytes, unsigned* priority, const timespec* until),
       (own_descriptor(queue), to, bytes, priority, until), )
SLEEPS(int, mq_send, (mqd_t queue, const char* from, size_t bytes, unsigned priority),
       (own_descriptor(queue), from, bytes, priority), )
SLEEPS(int, mq_timedsend,
       (mqd_t queue, const char* from, size_t bytes, unsigned priority, const timespec* until),
       (own_descriptor(queue), from, bytes, priority, until), )
SLEEPS(ssize_t, msgrcv, (int queue, void* to, size_t bytes, long type, int flags),
       (queue, to, bytes, type, flags), )
SLEEPS(int, msgsnd, (int queue, const void* from, size_t bytes, int flags),
       (queue, from, bytes, flags), )
SLEEPS(int, semop, (int set, sembuf* operations, size_t count), (set, operations, count), noexcept)
SLEEPS(int, semtimedop, (int set, sembuf* operations, size_t count, const timespec* limit),
       (set, operations, count, limit), noexcept)
SLEEPS(int, aio_suspend, (const aiocb* const* list, int count, const timespec* limit),
       (list, count, limit), )
SLEEPS(int, getaddrinfo,
       (const char* name, const char* service, const addrinfo* hints, addrinfo** result),
       (name, service, hints, result), )
MEANTIME_INTERPOSED void thrd_yield() {
  sched_yield();
}

/// A rank that only yields lets the others of its worker run.
MEANTIME_INTERPOSED int sched_yield() noexcept {
  MEANTIME_REAL(sched_yield);
  return mine() != nullptr && meantime_host_yield() != 0 ? 0 : real();
}
