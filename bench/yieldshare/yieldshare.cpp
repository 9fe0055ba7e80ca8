// What sched_yield gives away: the yield study of "Towards Efficient Oversubscription: On the Cost
// and Benefit of Event-Based Communication in MPI" (its Figures 3 and 4).
//
// Two processes on one CPU. For a fixed time each counts the turns of a loop that does nothing but
// one system call: getppid, or sched_yield. The share of a process is its count of the sum of both.
// The paper found that on CFS a process that yields keeps nearly half; other schedulers differ.
// Beside the paper's: the share of the processor time, which tells how much the one that yields
// really ran (its turns are longer where each of them is a switch), and switches.
#include <sys/resource.h>

#include <memory>

#include "../limits/processes.h"
#include "scheduler.h"

namespace {

const char usage[] =
    "meantime-yieldshare: two processes on one CPU, one of which yields: who gets how much of it\n"
    "(The paper's Yield* is of a patched kernel: here is the one that runs.)\n"
    "  --pairs LIST   of getppid+getppid, getppid+yield, yield+yield (default: all)\n"
    "  --seconds S    of each (default 5; the paper: 30)\n"
    "  --root DIR     where /proc and /sys are looked for, to name the scheduler (default: /)\n"
    "  --json         one JSON object a line\n";

struct Share {
  std::uint64_t turns = 0;
  double cpu_s = 0;
  long voluntary = 0, involuntary = 0;
};

struct Shared {
  std::atomic<bool> go{false};
  Share of[2];
};

// The clock is looked at every 64 turns, so that it is the system calls that are counted.
Share count(bool yields, double seconds) {
  Share mine;
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const std::uint64_t end = bench::now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  while (bench::now_ns() < end)
    for (int i = 0; i < 64; i++) {
      if (yields)
        sched_yield();
      else
        syscall(SYS_getppid);
      mine.turns++;
    }
  getrusage(RUSAGE_SELF, &after);
  const auto seconds_of = [](const rusage& use) {
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
  };
  mine.cpu_s = seconds_of(after) - seconds_of(before);
  mine.voluntary = after.ru_nvcsw - before.ru_nvcsw;
  mine.involuntary = after.ru_nivcsw - before.ru_nivcsw;
  return mine;
}

void measure(const std::string& pair, double seconds, bench::Report& report) {
  const std::size_t plus = pair.find('+');
  const std::string calls[2] = {pair.substr(0, plus), pair.substr(plus + 1)};
  auto& shared = *bench::shared_object<Shared>();
  const std::vector<int> cpus = bench::allowed_cpus();
  bench::run_processes(2, [&](int which) {
    bench::bind_to(cpus.back());
    // The second one is there before either begins.
    if (which == 1) shared.go = true;
    while (!shared.go) usleep(1000);
    shared.of[which] = count(calls[which] == "yield", seconds);
  });
  bench::allow(cpus);
  const Share* of = shared.of;
  const auto share = [](double one, double other) {
    return one + other > 0 ? one / (one + other) : 0;
  };
  for (const int which : {0, 1}) {
    const Share &mine = of[which], &other = of[1 - which];
    const double turns = share(static_cast<double>(mine.turns), static_cast<double>(other.turns));
    report.row("share", {{"pair", pair}, {"which", which + 1}, {"call", calls[which]}}, "share",
               bench::distribution_of({turns}),
               {{"turns", static_cast<double>(mine.turns)},
                {"cpu_share", share(mine.cpu_s, other.cpu_s)},
                {"voluntary_switches", mine.voluntary},
                {"involuntary_switches", mine.involuntary}});
  }
}

void body(bench::Options& options, bench::Report& report) {
  const auto pairs = options.texts("pairs", "getppid+getppid,getppid+yield,yield+yield");
  const double seconds = options.seconds("seconds", 5);
  const std::string root = options.text("root", "");
  options.finish();
  for (const std::string& pair : pairs)
    if (pair != "getppid+getppid" && pair != "getppid+yield" && pair != "yield+yield")
      throw bench::UsageError("--pairs: there is no pair '" + pair + "'");
  const bench::Scheduler scheduler = bench::find_scheduler(root);
  report.header("yieldshare", {{"scheduler", scheduler.name},
                               {"found_by", scheduler.found_by},
                               {"policy", scheduler.policy},
                               {"seconds", seconds}});
  for (const std::string& pair : pairs) measure(pair, seconds, report);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
