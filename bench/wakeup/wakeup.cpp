// What it costs to wake somebody, by each mechanism.
//
// Two bound processes. One waits; the other is late by some time, tells it, and waits for the
// answer.
//   wake-up      from just before the teller tells until the other one is awake (CLOCK_MONOTONIC,
//   which
//                all CPUs share)
//   telling      what that takes of the teller
//   round trip   until the teller has the answer. On two CPUs the teller computes while it is late
//   and
//                polls for the answer, so this is LIBRA without an MPI (bench/libra). On one CPU it
//                sleeps meanwhile, so that the other one is asleep when it is told, and waits for
//                the answer in a futex. With --teller compute it computes there too: then the other
//                one often had no chance to sleep, and gets the CPU only when the teller waits.
//                That is LIBRA with both ranks on one CPU
//   processor    what the waiting process used, of the time of the run
// How late it is matters: the longer a CPU idles, the deeper it sleeps.
#include <sys/prctl.h>

#include <algorithm>

#include "mechanisms.h"

namespace {

const char usage[] =
    "meantime-wakeup: what waking a process costs here, by each mechanism\n"
    "  --ways LIST     poll, yield, futex, deadline, condition, semaphore, pipe, eventfd,\n"
    "                  eventfd-epoll, datagram-poll, signal (default: all)\n"
    "                  deadline: a futex wait that ends 60 us before the expected time, then "
    "polling\n"
    "  --places LIST   same, two: both on one CPU, or on one each (default: both)\n"
    "  --late LIST     microseconds by which the teller is late (default 200)\n"
    "  --teller DOES   compute or sleep while it is late (default: compute on two CPUs, sleep on "
    "one)\n"
    "  --turns N       at each point (default 1000)\n"
    "  --json          one JSON object a line\n";

constexpr double early_us = 60;

// Sleeps until shortly before the time at which it was told after the last few waits, then polls:
// what a predicted wake-up can reach. Its teller rings only who sleeps.
class Deadline : public bench::Signal {
 public:
  explicit Deadline(double late_us)
      : word_(*static_cast<bench::Word*>(bench::shared_memory(64))),
        sleeping_(*static_cast<bench::Word*>(bench::shared_memory(64))),
        sleep_ns_(static_cast<long>(std::max(0.0, late_us - early_us) * 1000)) {}
  void tell() override {
    word_ = 1;
    if (sleeping_ != 0) bench::futex_wake(word_, 1);
  }
  void hear() override {
    if (sleep_ns_ > 0) {
      sleeping_ = 1;
      const timespec time{sleep_ns_ / 1'000'000'000, sleep_ns_ % 1'000'000'000};
      // It sleeps only if nobody told yet; who tells later finds it sleeping.
      syscall(SYS_futex, &word_, FUTEX_WAIT, 0, &time, nullptr, 0);
      sleeping_ = 0;
    }
    while (word_.load(std::memory_order_acquire) == 0) bench::pause_briefly();
    word_ = 0;
  }

 private:
  bench::Word &word_, &sleeping_;
  long sleep_ns_;
};

struct Shared {
  std::atomic<std::uint64_t> awake_at{0};
  std::atomic<std::uint64_t> waiter_cpu_ns{0};
};

struct Point {
  std::string way, place;
  double late_us;
  long turns;
  bool computes;
};

std::unique_ptr<bench::Signal> make_way(const Point& point) {
  if (point.way == "deadline") return std::make_unique<Deadline>(point.late_us);
  return bench::make_signal(point.way);
}

// The one who waits.
void wait_and_answer(const Point& point, bench::Signal& forth, bench::Signal& back,
                     Shared& shared) {
  prctl(PR_SET_TIMERSLACK, 1);  // or a deadline is met 50 us late
  const std::uint64_t cpu = bench::process_cpu_ns();
  for (long turn = 0; turn < point.turns; turn++) {
    forth.hear();
    shared.awake_at = bench::now_ns();
    back.tell();
  }
  shared.waiter_cpu_ns = bench::process_cpu_ns() - cpu;
}

void be_late(const Point& point) {
  if (!point.computes) {
    const auto ns = static_cast<long>(point.late_us * 1000);
    const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    nanosleep(&time, nullptr);
    return;
  }
  const auto end = bench::now_ns() + static_cast<std::uint64_t>(point.late_us * 1000);
  while (bench::now_ns() < end) {
  }
}

void measure(const Point& point, bench::Report& report) {
  const std::vector<int> cpus = bench::allowed_cpus();
  const bench::Keys keys{{"way", point.way}, {"place", point.place}, {"late_us", point.late_us}};
  if (point.place == "two" && cpus.size() < 2) {
    report.skip("wake-up", keys, "only one CPU is allowed here");
    return;
  }
  const bool polls = point.way == "poll" || point.way == "deadline";
  if (point.place == "same" && polls && sched_getscheduler(0) != SCHED_OTHER) {
    report.skip("wake-up", keys, "a real-time process that polls lets nobody else on its CPU");
    return;
  }
  const auto forth = make_way(point);
  const auto back = bench::make_signal(point.place == "two" ? "poll" : "futex");
  auto& shared = *bench::shared_object<Shared>();
  std::vector<double> wake_us, tell_us, round_us;
  std::uint64_t start = 0, end = 0;
  bench::run_processes(2, [&](int rank) {
    bench::bind_to(rank == 0 || point.place == "same" ? cpus.front() : cpus.back());
    if (rank == 1) return wait_and_answer(point, *forth, *back, shared);
    start = bench::now_ns();
    for (long turn = 0; turn < point.turns; turn++) {
      be_late(point);
      const std::uint64_t before = bench::now_ns();
      forth->tell();
      const std::uint64_t told = bench::now_ns();
      back->hear();
      const std::uint64_t answered = bench::now_ns();
      wake_us.push_back(static_cast<double>(shared.awake_at - before) * 1e-3);
      tell_us.push_back(static_cast<double>(told - before) * 1e-3);
      round_us.push_back(static_cast<double>(answered - before) * 1e-3);
    }
    end = bench::now_ns();
  });
  bench::allow(cpus);
  const double share = static_cast<double>(shared.waiter_cpu_ns) / static_cast<double>(end - start);
  report.row("wake-up", keys, "us", bench::distribution_of(wake_us),
             {{"telling", bench::quantile_of(tell_us, 0.5)},
              {"round_trip", bench::quantile_of(round_us, 0.5)},
              {"round_trip_p99", bench::quantile_of(round_us, 0.99)},
              {"waiting_cpu_share", share}});
}

void body(bench::Options& options, bench::Report& report) {
  std::string all = "deadline";
  for (const bench::Mechanism& mechanism : bench::mechanisms())
    all += std::string(",") + mechanism.name;
  const auto ways = options.texts("ways", all);
  const auto places = options.texts("places", "same,two");
  const auto late = options.numbers("late", "200");
  const long turns = options.count("turns", 1000);
  const std::string teller = options.text("teller", "");
  options.finish();
  for (const std::string& way : ways) make_way({way, "", 0, 0, false});
  for (const std::string& place : places)
    if (place != "same" && place != "two") throw bench::UsageError("--places are same and two");
  if (!teller.empty() && teller != "compute" && teller != "sleep")
    throw bench::UsageError("--teller is compute or sleep");
  report.header("wakeup", {{"cpus", static_cast<long>(bench::allowed_cpus().size())}});
  for (const double late_us : late)
    for (const std::string& place : places)
      for (const std::string& way : ways)
        measure({way, place, late_us, turns, teller.empty() ? place == "two" : teller == "compute"},
                report);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
