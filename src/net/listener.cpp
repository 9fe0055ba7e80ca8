#include "net/listener.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace meantime::net {

Listener::Listener(int descriptor, void (*ring)(int), int argument)
    : descriptor_(descriptor), ring_(ring), argument_(argument) {}

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
  events_ = events;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's own threads' affair
  pthread_t thread;
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
    close(events);
    events_ = -1;
  }
  return error;
}

int Listener::listen() {
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
  for (;;) {
    epoll_event event{};
    const int count = epoll_wait(events_, &event, 1, -1);
    if (count == 1) {
      ring_(argument_);
    } else if (count < 0 && errno != EINTR) {
      return;  // the program has closed what is not its own
    }
  }
}

}  // namespace meantime::net
