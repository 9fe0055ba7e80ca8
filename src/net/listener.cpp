#include "net/listener.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace meantime::net {

Listener::Listener(int descriptor, void (*ring)(int), int argument)
    : descriptor_(descriptor), ring_(ring), argument_(argument) {}

/// Its thread lives as long as the process.
int Listener::start() {
  events_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event nothing{};
  nothing.events = EPOLLONESHOT;
  if (events_ < 0 || epoll_ctl(events_, EPOLL_CTL_ADD, descriptor_, &nothing) != 0) {
    return errno;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's own threads' affair
  pthread_t thread;
  const int error = pthread_create(
      &thread, &attributes,
      [](void* listener) -> void* {
        static_cast<Listener*>(listener)->run();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
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
