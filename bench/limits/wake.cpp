// What it costs that one process makes another one go on: every mechanism, same core and two cores.
//
// Ping-pong of two bound processes; each side tells the other by the mechanism and waits for the
// answer by it. Half round trip. On one core a poller runs until its time slice ends.

#include "../wakeup/mechanisms.h"
#include "processes.h"

namespace {

const char usage[] =
    "wake: ping-pong of two processes by each waiting mechanism, half round trip\n"
    "  --ways LIST     poll, yield, futex, pipe, eventfd-epoll, datagram-poll (default: all)\n"
    "  --places LIST   same, two (default: both)\n"
    "  --seconds S     per point (default 0.5)\n"
    "  --json\n";

// Turns until the time is over: nobody can know before what a turn costs (80 ns to 4 ms).
void measure(const std::string& way, const std::string& place, double seconds,
             bench::Report& report) {
  const std::vector<int> cpus = bench::allowed_cpus();
  const bench::Keys keys{{"way", way}, {"place", place}};
  if (place == "two" && cpus.size() < 2) {
    report.skip("wake", keys, "only one core is allowed here");
    return;
  }
  const auto forth = bench::make_signal(way), back = bench::make_signal(way);
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
  bench::allow(cpus);
  report.row("wake", keys, "us", bench::distribution_of(bench::differences(stamps)).scaled(0.5e-3));
}

void body(bench::Options& options, bench::Report& report) {
  const auto ways = options.texts("ways", "poll,yield,futex,pipe,eventfd-epoll,datagram-poll");
  const auto places = options.texts("places", "same,two");
  const double seconds = options.seconds("seconds", 0.5);
  options.finish();
  for (const std::string& way : ways) bench::make_signal(way);
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
