// What it costs that one process makes another one go on: every mechanism, same core and two cores.
//
// Ping-pong of two bound processes; each side tells the other by the mechanism and waits for the
// answer by it. Half round trip. On one core a poller runs until its time slice ends.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <memory>

#include "processes.h"

namespace {

const char usage[] =
    "wake: ping-pong of two processes by each waiting mechanism, half round trip\n"
    "  --ways LIST     poll, yield, futex, pipe, eventfd-epoll, datagram-poll (default: all)\n"
    "  --places LIST   same, two (default: both)\n"
    "  --seconds S     per point (default 0.5)\n"
    "  --json\n";

// One direction: `tell` on one side makes `hear` on the other side return once.
class Signal {
 public:
  virtual ~Signal() = default;
  virtual void tell() = 0;
  virtual void hear() = 0;
};

class Flag : public Signal {
 public:
  Flag() : word_(*static_cast<bench::Word*>(bench::shared_memory(64))) {}
  void tell() override { word_.store(1, std::memory_order_release); }
  void hear() override {
    while (!word_.load(std::memory_order_acquire)) idle();
    word_.store(0, std::memory_order_relaxed);
  }

 protected:
  virtual void idle() = 0;
  bench::Word& word_;
};

class PolledFlag : public Flag {
  void idle() override { bench::pause_briefly(); }
};

class YieldingFlag : public Flag {
  void idle() override { sched_yield(); }
};

class FutexFlag : public Flag {
  void tell() override {
    word_.store(1);
    bench::futex_wake(word_, 1);
  }
  void idle() override { bench::futex_wait(word_, 0); }
};

class Pipe : public Signal {
 public:
  Pipe() { bench::require(pipe(ends_) == 0, "pipe"); }
  ~Pipe() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  void tell() override { bench::require(write(ends_[1], "!", 1) == 1, "write to a pipe"); }
  void hear() override {
    char byte;
    bench::require(read(ends_[0], &byte, 1) == 1, "read from a pipe");
  }

 private:
  int ends_[2];
};

class EventByEpoll : public Signal {
 public:
  EventByEpoll() : event_(eventfd(0, 0)), poller_(epoll_create1(0)) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    bench::require(event_ >= 0 && epoll_ctl(poller_, EPOLL_CTL_ADD, event_, &interest) == 0,
                   "eventfd and epoll");
  }
  ~EventByEpoll() override {
    close(event_);
    close(poller_);
  }
  void tell() override {
    const std::uint64_t one = 1;
    bench::require(write(event_, &one, 8) == 8, "write to an eventfd");
  }
  void hear() override {
    epoll_event event;
    while (epoll_wait(poller_, &event, 1, -1) != 1) {
    }
    std::uint64_t count;
    bench::require(read(event_, &count, 8) == 8, "read from an eventfd");
  }

 private:
  int event_, poller_;
};

class DatagramByPoll : public Signal {
 public:
  DatagramByPoll() { bench::require(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends_) == 0, "socketpair"); }
  ~DatagramByPoll() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  void tell() override { bench::require(send(ends_[1], "!", 1, 0) == 1, "send"); }
  void hear() override {
    pollfd interest{ends_[0], POLLIN, 0};
    while (poll(&interest, 1, -1) != 1) {
    }
    char byte;
    bench::require(recv(ends_[0], &byte, 1, 0) == 1, "recv");
  }

 private:
  int ends_[2];
};

std::unique_ptr<Signal> make_signal(const std::string& way) {
  if (way == "poll") return std::make_unique<PolledFlag>();
  if (way == "yield") return std::make_unique<YieldingFlag>();
  if (way == "futex") return std::make_unique<FutexFlag>();
  if (way == "pipe") return std::make_unique<Pipe>();
  if (way == "eventfd-epoll") return std::make_unique<EventByEpoll>();
  if (way == "datagram-poll") return std::make_unique<DatagramByPoll>();
  throw bench::UsageError("there is no way '" + way + "'");
}

// Turns until the time is over: nobody can know before what a turn costs (80 ns to 4 ms).
void measure(const std::string& way, const std::string& place, double seconds,
             bench::Report& report) {
  const std::vector<int> cpus = bench::allowed_cpus();
  const bench::Keys keys{{"way", way}, {"place", place}};
  if (place == "two" && cpus.size() < 2) {
    report.skip("wake", keys, "only one core is allowed here");
    return;
  }
  const auto forth = make_signal(way), back = make_signal(way);
  auto& over = *bench::shared_object<std::atomic<bool>>();
  std::vector<std::uint64_t> stamps;
  stamps.reserve(1u << 20);
  bench::run_processes(2, [&](int rank) {
    bench::bind_to(rank == 0 ? cpus.front() : place == "same" ? cpus.front() : cpus.back());
    if (rank == 1) {
      for (bool last = false; !last;) {
        forth->hear();
        last = over;  // the parent says so before it tells for the last time
        back->tell();
      }
      return;
    }
    auto turn = [&] {
      forth->tell();
      back->hear();
    };
    for (int i = 0; i < 5; i++) turn();
    const std::uint64_t end = bench::now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
    stamps.push_back(bench::now_ns());
    do {
      turn();
      stamps.push_back(bench::now_ns());
    } while (stamps.back() < end && stamps.size() < stamps.capacity());
    over = true;
    turn();
  });
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu : cpus) CPU_SET(cpu, &all);
  sched_setaffinity(0, sizeof all, &all);
  report.row("wake", keys, "us", bench::distribution_of(bench::differences(stamps)).scaled(0.5e-3));
}

void body(bench::Options& options, bench::Report& report) {
  const auto ways = options.texts("ways", "poll,yield,futex,pipe,eventfd-epoll,datagram-poll");
  const auto places = options.texts("places", "same,two");
  const double seconds = options.seconds("seconds", 0.5);
  options.finish();
  for (const std::string& way : ways) make_signal(way);
  for (const std::string& place : places)
    if (place != "same" && place != "two") throw bench::UsageError("--places are same and two");
  report.header("wake", {{"cpus", static_cast<long>(bench::allowed_cpus().size())}});
  for (const std::string& way : ways)
    for (const std::string& place : places) measure(way, place, seconds, report);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
