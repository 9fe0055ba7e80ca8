// A late message over TCP on the loopback, without an MPI: two bound processes, TCP_NODELAY.
//
// One waits; the other is late by some time (it computes), sends 8 bytes and polls for the answer:
// LIBRA without an MPI (bench/libra), over a socket. The one who waits
//   poll    asks its socket again and again (recv that does not block)
//   epoll   sleeps in epoll_wait until the socket is readable
// Beside the round trip: what the one who waits used of its CPU.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "processes.h"

namespace {

const char usage[] =
    "tcp: round trip of a late message over TCP, and what waiting for it takes\n"
    "  --ways LIST     poll, epoll (default: both): how the one waits to whom it is sent\n"
    "  --late LIST     microseconds by which the sender is late (default 0,1000)\n"
    "  --seconds S     per point (default 0.5)\n"
    "  --json\n";

struct Ends {
  int one, other;
};

Ends connect_over_loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  bench::require(listener >= 0 && bind(listener, any, length) == 0 && listen(listener, 1) == 0 &&
                     getsockname(listener, any, &length) == 0,
                 "a listening socket");
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  bench::require(one >= 0 && connect(one, any, length) == 0, "connect");
  const Ends ends{one, accept(listener, nullptr, nullptr)};
  bench::require(ends.other >= 0, "accept");
  close(listener);
  const int yes = 1;
  for (const int end : {ends.one, ends.other})
    bench::require(setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
  return ends;
}

void send_word(int end, std::uint64_t word) {
  bench::require(send(end, &word, sizeof word, 0) == sizeof word, "send");
}

// 8 bytes are never divided.
std::uint64_t poll_for_word(int end) {
  std::uint64_t word = 0;
  for (;;) {
    const ssize_t got = recv(end, &word, sizeof word, MSG_DONTWAIT);
    if (got == sizeof word) return word;
    bench::require(got < 0 && errno == EAGAIN, "recv");
  }
}

class Sleeper {
 public:
  explicit Sleeper(int end) : end_(end), events_(epoll_create1(0)) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    bench::require(events_ >= 0 && epoll_ctl(events_, EPOLL_CTL_ADD, end, &interest) == 0, "epoll");
  }
  ~Sleeper() { close(events_); }
  std::uint64_t wait() const {
    epoll_event event;
    while (epoll_wait(events_, &event, 1, -1) != 1) {
    }
    return poll_for_word(end_);
  }

 private:
  int end_, events_;
};

constexpr std::uint64_t last = ~std::uint64_t{0};

void wait_and_answer(bool sleeps, int end, std::atomic<double>& cpu_share) {
  const Sleeper sleeper(end);
  const std::uint64_t start = bench::now_ns(), cpu = bench::process_cpu_ns();
  for (std::uint64_t word = 0; word != last;) {
    word = sleeps ? sleeper.wait() : poll_for_word(end);
    send_word(end, word);
  }
  cpu_share = static_cast<double>(bench::process_cpu_ns() - cpu) /
              static_cast<double>(bench::now_ns() - start);
}

void measure(const std::string& way, double late_us, double seconds, bench::Report& report) {
  const std::vector<int> cpus = bench::allowed_cpus();
  const Ends ends = connect_over_loopback();
  auto& cpu_share = *bench::shared_object<std::atomic<double>>();
  std::vector<double> round_trips;
  bench::run_processes(2, [&](int rank) {
    bench::bind_to(rank == 0 ? cpus.front() : cpus.back());
    if (rank == 1) return wait_and_answer(way == "epoll", ends.other, cpu_share);
    const auto late = static_cast<std::uint64_t>(late_us * 1000);
    const std::uint64_t end = bench::now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
    for (std::uint64_t turn = 0, start = 0; turn != last;) {
      for (start = bench::now_ns() + late; bench::now_ns() < start;) {
      }
      turn = bench::now_ns() < end ? turn + 1 : last;
      start = bench::now_ns();
      send_word(ends.one, turn);
      bench::require(poll_for_word(ends.one) == turn, "the answer is another turn's");
      round_trips.push_back(static_cast<double>(bench::now_ns() - start));
    }
  });
  bench::allow(cpus);
  close(ends.one);
  close(ends.other);
  const bench::Keys keys{{"way", way}, {"late_us", late_us}};
  report.row("late message", keys, "us", bench::distribution_of(round_trips).scaled(1e-3));
  report.row("waiting CPU", keys, "of a core", bench::distribution_of({cpu_share.load()}));
}

void body(bench::Options& options, bench::Report& report) {
  const auto ways = options.texts("ways", "poll,epoll");
  const auto late = options.numbers("late", "0,1000");
  const double seconds = options.seconds("seconds", 0.5);
  options.finish();
  for (const std::string& way : ways)
    if (way != "poll" && way != "epoll") throw bench::UsageError("there is no way '" + way + "'");
  report.header("tcp", {{"cpus", static_cast<long>(bench::allowed_cpus().size())}});
  for (const double late_us : late)
    for (const std::string& way : ways) measure(way, late_us, seconds, report);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
