#include "net/listener.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "net/outside_of_rank.h"

namespace meantime::net {

Listener::Listener(int descriptor, void (*call)(int), int argument, Urgency urgency,
                   std::atomic<std::uint32_t>& threads)
    : descriptor_(descriptor),
      call_(call),
      argument_(argument),
      urgency_(urgency),
      threads_(threads) {}

/// Its thread lives as long as the process. (Its stack is as large as others': the program's
/// thread-local data lie in it, too.)
int Listener::start() {
  const int events = epoll_create1(EPOLL_CLOEXEC);
  epoll_event nothing{};
  nothing.events = EPOLLONESHOT;
  if (events < 0 || epoll_ctl(events, EPOLL_CTL_ADD, descriptor_, &nothing) != 0) {
    const int error = errno;
    close(events);
    return error;
  }
  epoll_event other{};
  other.events = EPOLLIN;
  other.data.ptr = this;
  if (other_ >= 0) {
    epoll_ctl(events, EPOLL_CTL_ADD, other_, &other);
  }
  events_ = events;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's own threads' affair
  pthread_t thread;
  threads_.fetch_add(1, std::memory_order_relaxed);
  const int error = pthread_create(
      &thread, nullptr,
      [](void* listener) -> void* {
        static_cast<Listener*>(listener)->run();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) {
    pthread_detach(thread);
  } else {
    threads_.fetch_sub(1, std::memory_order_relaxed);
    close(events);
    events_ = -1;
  }
  return error;
}

void Listener::also_at(int descriptor, void (*call)(void*), void* object) {
  other_ = descriptor;
  other_call_ = call;
  other_object_ = object;
}

void Listener::start_thread() {
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  if (events_ < 0) {
    start();
  }
}

int Listener::listen() {
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  if (events_ < 0) {
    if (const int error = start(); error != 0) {
      return error;
    }
  }
  epoll_event readable{};
  readable.events = EPOLLIN | EPOLLONESHOT;
  return epoll_ctl(events_, EPOLL_CTL_MOD, descriptor_, &readable) == 0 ? 0 : errno;
}

void Listener::run() const {
  // Who listened first may be a worker, bound to its CPU; the main thread never is.
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0) {
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
  if (urgency_ == Urgency::leaves_cpus_to_others) {
    const sched_param no_priority{};
    sched_setscheduler(0, SCHED_BATCH, &no_priority);
  }
  for (;;) {
    epoll_event event{};
    const int count = epoll_wait(events_, &event, 1, -1);
    if (count == 1 && event.data.ptr != nullptr) {
      other_call_(other_object_);
    } else if (count == 1) {
      call_(argument_);
    } else if (count < 0 && errno != EINTR) {
      threads_.fetch_sub(1, std::memory_order_relaxed);
      return;  // the program has closed what is not its own
    }
  }
}

}  // namespace meantime::net
