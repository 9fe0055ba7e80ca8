// The ways in which one process can make another one that waits go on.
//
// A Signal is one direction between two processes; it is made before they are forked. Each `tell`
// makes one `hear` of the other process return, whichever comes first.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "../limits/processes.h"

namespace bench {

class Signal {
 public:
  virtual ~Signal() = default;
  virtual void tell() = 0;
  virtual void hear() = 0;
};

class Flag : public Signal {
 public:
  Flag() : word_(*static_cast<Word*>(shared_memory(64))) {}
  void tell() override { word_.store(1, std::memory_order_release); }
  void hear() override {
    while (!word_.load(std::memory_order_acquire)) idle();
    word_.store(0, std::memory_order_relaxed);
  }

 protected:
  virtual void idle() = 0;
  Word& word_;
};

class PolledFlag : public Flag {
  void idle() override { pause_briefly(); }
};

class YieldingFlag : public Flag {
  void idle() override { sched_yield(); }
};

class FutexFlag : public Flag {
  void tell() override {
    word_.store(1);
    futex_wake(word_, 1);
  }
  void idle() override { futex_wait(word_, 0); }
};

class Pipe : public Signal {
 public:
  Pipe() { require(pipe(ends_) == 0, "pipe"); }
  ~Pipe() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  void tell() override { require(write(ends_[1], "!", 1) == 1, "write to a pipe"); }
  void hear() override {
    char byte;
    require(read(ends_[0], &byte, 1) == 1, "read from a pipe");
  }

 private:
  int ends_[2];
};

class EventByEpoll : public Signal {
 public:
  EventByEpoll() : event_(eventfd(0, 0)), poller_(epoll_create1(0)) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    require(event_ >= 0 && epoll_ctl(poller_, EPOLL_CTL_ADD, event_, &interest) == 0,
            "eventfd and epoll");
  }
  ~EventByEpoll() override {
    close(event_);
    close(poller_);
  }
  void tell() override {
    const std::uint64_t one = 1;
    require(write(event_, &one, 8) == 8, "write to an eventfd");
  }
  void hear() override {
    epoll_event event;
    while (epoll_wait(poller_, &event, 1, -1) != 1) {
    }
    std::uint64_t count;
    require(read(event_, &count, 8) == 8, "read from an eventfd");
  }

 private:
  int event_, poller_;
};

class DatagramByPoll : public Signal {
 public:
  DatagramByPoll() { require(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends_) == 0, "socketpair"); }
  ~DatagramByPoll() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  void tell() override { require(send(ends_[1], "!", 1, 0) == 1, "send"); }
  void hear() override {
    pollfd interest{ends_[0], POLLIN, 0};
    while (poll(&interest, 1, -1) != 1) {
    }
    char byte;
    require(recv(ends_[0], &byte, 1, 0) == 1, "recv");
  }

 private:
  int ends_[2];
};

// A mutex and a condition variable that processes share (POSIX: PTHREAD_PROCESS_SHARED).
class Condition : public Signal {
 public:
  Condition() : shared_(*shared_object<Shared>()) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&condition);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    require(pthread_mutex_init(&shared_.mutex, &mutex) == 0 &&
                pthread_cond_init(&shared_.condition, &condition) == 0,
            "a shared condition variable");
  }
  void tell() override {
    pthread_mutex_lock(&shared_.mutex);
    shared_.told = true;
    pthread_mutex_unlock(&shared_.mutex);
    pthread_cond_signal(&shared_.condition);
  }
  void hear() override {
    pthread_mutex_lock(&shared_.mutex);
    while (!shared_.told) pthread_cond_wait(&shared_.condition, &shared_.mutex);
    shared_.told = false;
    pthread_mutex_unlock(&shared_.mutex);
  }

 private:
  struct Shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    bool told = false;
  };
  Shared& shared_;
};

class Semaphore : public Signal {
 public:
  Semaphore() : semaphore_(*static_cast<sem_t*>(shared_memory(sizeof(sem_t)))) {
    require(sem_init(&semaphore_, 1, 0) == 0, "a shared semaphore");
  }
  void tell() override { sem_post(&semaphore_); }
  void hear() override {
    while (sem_wait(&semaphore_) != 0) {
    }
  }

 private:
  sem_t& semaphore_;
};

class Event : public Signal {
 public:
  Event() : event_(eventfd(0, 0)) { require(event_ >= 0, "eventfd"); }
  ~Event() override { close(event_); }
  void tell() override {
    const std::uint64_t one = 1;
    require(write(event_, &one, 8) == 8, "write to an eventfd");
  }
  void hear() override {
    std::uint64_t count;
    require(read(event_, &count, 8) == 8, "read from an eventfd");
  }

 private:
  int event_;
};

// A real-time signal, queued by sigqueue and taken by sigwaitinfo.
class RealTimeSignal : public Signal {
 public:
  RealTimeSignal() : hearer_(*shared_object<std::atomic<pid_t>>()), number_(next_number()) {
    sigemptyset(&set_);
    sigaddset(&set_, number_);
    sigprocmask(SIG_BLOCK, &set_, nullptr);
  }
  void tell() override {
    while (hearer_ == 0) sched_yield();
    require(sigqueue(hearer_, number_, sigval{}) == 0, "sigqueue");
  }
  void hear() override {
    hearer_ = getpid();
    while (sigwaitinfo(&set_, nullptr) != number_) {
    }
  }

 private:
  // The two directions have one each.
  static int next_number() {
    static int made = 0;
    return SIGRTMIN + made++ % 2;
  }
  std::atomic<pid_t>& hearer_;
  int number_;
  sigset_t set_;
};

template <class Kind>
std::unique_ptr<Signal> make() {
  return std::make_unique<Kind>();
}

struct Mechanism {
  const char* name;
  std::unique_ptr<Signal> (*make)();
};

inline const std::vector<Mechanism>& mechanisms() {
  static const std::vector<Mechanism> all{
      {"poll", make<PolledFlag>},
      {"yield", make<YieldingFlag>},
      {"futex", make<FutexFlag>},
      {"condition", make<Condition>},
      {"semaphore", make<Semaphore>},
      {"pipe", make<Pipe>},
      {"eventfd", make<Event>},
      {"eventfd-epoll", make<EventByEpoll>},
      {"datagram-poll", make<DatagramByPoll>},
      {"signal", make<RealTimeSignal>},
  };
  return all;
}

inline std::unique_ptr<Signal> make_signal(const std::string& way) {
  for (const Mechanism& mechanism : mechanisms())
    if (way == mechanism.name) return mechanism.make();
  throw UsageError("there is no way '" + way + "'");
}

}  // namespace bench
