// LIBRA: what waiting costs the one who waits for a late message.
//
// The benchmark of "Towards Efficient Oversubscription: On the Cost and Benefit of Event-Based
// Communication in MPI" (its Figure 6). A pair of ranks: the sending side is late by a delay (a
// busy loop on the clock, not counted), sends a message of some size and waits for an empty reply;
// each of these round trips is recorded. The *measured side* waits for the message: it polls,
// yields or sleeps, and its processor time is what the wait cost. The sending side polls, unless
// told otherwise.
//
// Ranks 2k and 2k + 1 are pair k; with several pairs their figures are pooled. Plain MPI: compiles
// with the C++ wrapper of any implementation, -std=c++17.
#include <sys/resource.h>

#include <cstring>
#include <fstream>

#include "../common/cpus.h"
#include "../common/energy.h"
#include "../common/mpi_program.h"
#include "mode.h"
#include "plan.h"

namespace {

const char usage[] =
    "meantime-libra: round trips of a late message, and what waiting for it costs (LIBRA)\n"
    "Even ranks are late and send, odd ones wait and are measured: mpiexec -n 2 meantime-libra "
    "--mode event\n"
    "  --mode NAME        how the measured side waits. Meantime: what MEANTIME_WAIT takes; Open "
    "MPI\n"
    "                     and MPICH: poll, yield. Without it nothing is changed\n"
    "  --sending-mode M   then how the sending side waits (default poll). MEANTIME_TRIES_POLL, "
    "_TRIES_YIELD\n"
    "                     and _TIMEOUT are then about the measured side alone\n"
    "  --bytes LIST       message sizes (default 1,8,64,512,4K,32K,256K,1M,8M)\n"
    "  --delays LIST      microseconds by which messages are late (default "
    "0,10,50,100,200,500,1000)\n"
    "  --delay KIND       constant (default); jitter: uniform within 30 % around it; bimodal: "
    "half\n"
    "                     or one and a half of it, by chance\n"
    "  --iterations N     at every point, at least 1; without it as in the paper: 100 000, and "
    "fewer for more\n"
    "                     than 1 KiB or 50 us, at least 100\n"
    "  --seconds S        at most S seconds at every point, about, but at least 100 iterations\n"
    "  --place WHERE      two: each rank on a CPU of its own (default, if there are enough)\n"
    "                     one: the two of a pair on one CPU\n"
    "                     free: wherever the launcher and the kernel put them\n"
    "  --latencies FILE   also write every round trip there, and the measured side's turn (its "
    "wait and\n"
    "                     its reply), as a table\n"
    "  --powercap DIR     where energy is read (default /sys/class/powercap)\n"
    "  --json             one JSON object a line\n";

enum Tag { message_tag = 1, reply_tag, times_tag };

// Every round trip of a point is kept in memory.
constexpr long most_iterations = 100'000'000;

// What one rank spent on the iterations of a point.
struct Spent {
  double wall_us, cpu_us, joules, machine_joules;
};

struct Meters {
  bench::EnergyMeter package, machine;
};

std::string said_of(const bench::EnergyMeter& meter, const std::string& remark) {
  return meter.readable() ? meter.zones() + remark : "none read: " + meter.why_not();
}

double cpu_us() {
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

struct Point {
  long bytes;
  double delay_us;
  std::string kind;
  long iterations;
  double seconds;  // 0: however long they take
};

class Side {
 public:
  Side(int rank, long bytes) : rank_(rank), bytes_(static_cast<int>(bytes)), buffer_(1, bytes, 1) {}

  // One iteration, and how long it took, in ns: the sending side's round trip; of the measured one
  // its wait and its reply, so that the clock is not looked at between the two.
  std::uint64_t turn(std::uint64_t number, std::uint64_t late_ns) {
    if (libra::measured_side(rank_)) {
      const std::uint64_t start = bench::now_ns();
      MPI_Recv(data(), bytes_, MPI_CHAR, rank_ - 1, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(number);
      MPI_Send(nullptr, 0, MPI_CHAR, rank_ - 1, reply_tag, MPI_COMM_WORLD);
      return bench::now_ns() - start;
    }
    stamp(number);
    for (const std::uint64_t end = bench::now_ns() + late_ns; bench::now_ns() < end;) {
    }
    const std::uint64_t start = bench::now_ns();
    MPI_Send(data(), bytes_, MPI_CHAR, rank_ + 1, message_tag, MPI_COMM_WORLD);
    MPI_Recv(nullptr, 0, MPI_CHAR, rank_ + 1, reply_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return bench::now_ns() - start;
  }

 private:
  char* data() { return buffer_.at(0); }
  // The number's low bytes are the message's first, so what is timed has really arrived.
  std::size_t stamped() const { return static_cast<std::size_t>(std::min(bytes_, 8)); }
  void stamp(std::uint64_t number) { std::memcpy(data(), &number, stamped()); }
  void check(std::uint64_t number) {
    if (std::memcmp(data(), &number, stamped()) != 0)
      bench::measured_wrong("meantime-libra: a message carries another iteration's data");
  }

  int rank_, bytes_;
  bench::Buffers buffer_;
};

// How many iterations come next: 100, then up to nine times as many as there were, as far as the
// time goes. The same answer on every rank, whose slowest has needed `seconds` up to now.
long next_batch(const Point& point, long done, double seconds) {
  const long rest = point.iterations - done;
  if (point.seconds <= 0) return rest;
  if (done == 0) return std::min(rest, 100L);
  if (seconds > 0.9 * point.seconds) return 0;
  const double fitting = (point.seconds / seconds - 1) * static_cast<double>(done);
  return std::min({rest, 9 * done, std::lround(std::min(fitting, 1e9))});
}

// Every rank's: the times of its own turns, and what it spent.
// What is agreed upon between batches is not in it, but for the energy. Afterwards point.iterations
// are those that were done.
Spent run(int rank, Point& point, Meters& meters, std::vector<double>& times) {
  const auto late = libra::delays(point.kind, point.delay_us, point.iterations);
  Side side(rank, point.bytes);
  const long warm = std::min(100L, point.iterations / 10 + 1);
  std::vector<std::uint64_t> ns(late.size());
  MPI_Barrier(MPI_COMM_WORLD);
  for (long i = 0; i < warm; i++) side.turn(static_cast<std::uint64_t>(i), late[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  meters.package.joules();
  meters.machine.joules();
  Spent spent{};
  std::size_t done = 0;
  double slowest = 0;
  while (const long batch = next_batch(point, static_cast<long>(done), slowest)) {
    const double cpu = cpu_us();
    const std::uint64_t start = bench::now_ns();
    for (const std::size_t end = done + static_cast<std::size_t>(batch); done < end; done++)
      ns[done] = side.turn(done, late[done]);
    spent.wall_us += static_cast<double>(bench::now_ns() - start) * 1e-3;
    spent.cpu_us += cpu_us() - cpu;
    if (point.seconds <= 0) break;
    const double mine = spent.wall_us * 1e-6;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  spent.joules = meters.package.joules();
  spent.machine_joules = meters.machine.joules();
  point.iterations = static_cast<long>(done);
  ns.resize(done);
  times.clear();
  for (std::uint64_t one : ns) times.push_back(static_cast<double>(one) * 1e-3);
  return spent;
}

// The measured side's times, at the sending side of the pair.
std::vector<double> hand_over(int rank, const std::vector<double>& mine) {
  const int count = static_cast<int>(mine.size());
  std::vector<double> other;
  if (libra::measured_side(rank)) {
    MPI_Send(mine.data(), count, MPI_DOUBLE, rank - 1, times_tag, MPI_COMM_WORLD);
  } else {
    other.resize(mine.size());
    MPI_Recv(other.data(), count, MPI_DOUBLE, rank + 1, times_tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  return other;
}

// Of all pairs, one pair after the other, at rank 0.
std::vector<double> gather(std::vector<double>& mine, MPI_Comm senders) {
  std::vector<double> all;
  if (senders == MPI_COMM_NULL) return all;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(senders, &rank);
  MPI_Comm_size(senders, &ranks);
  const int count = static_cast<int>(mine.size());
  if (rank == 0) all.resize(mine.size() * static_cast<std::size_t>(ranks));
  MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, senders);
  return all;
}

// The mean of all sending or of all measured sides, in one iteration.
struct SideMeans {
  double cpu_us = 0, cpu_share = 0, joules = 0;
  SideMeans(const std::vector<Spent>& all, std::size_t first, long iterations) {
    double wall = 0;
    for (std::size_t i = first; i < all.size(); i += 2) {
      wall += all[i].wall_us;
      cpu_us += all[i].cpu_us;
      joules += all[i].joules;
    }
    cpu_share = cpu_us / wall;
    const double turns = static_cast<double>(iterations) * static_cast<double>(all.size()) / 2;
    cpu_us /= turns;
    joules /= turns;
  }
};

void write_latencies(std::ofstream& file, const Point& point, const std::vector<double>& all,
                     const std::vector<double>& turns) {
  const auto late = libra::delays(point.kind, point.delay_us, point.iterations);
  for (std::size_t i = 0; i < all.size(); i++)
    file << point.bytes << '\t' << point.delay_us << '\t' << i / late.size() << '\t'
         << i % late.size() << '\t' << static_cast<double>(late[i % late.size()]) * 1e-3 << '\t'
         << all[i] << '\t' << turns[i] << '\n';
  if (!file.flush()) bench::measured_wrong("meantime-libra: cannot write the latencies");
}

void measure(bench::Program& program, Point point, Meters& meters, MPI_Comm senders,
             std::ofstream* file) {
  const bench::Keys keys{
      {"bytes", point.bytes}, {"delay_us", point.delay_us}, {"delay", point.kind}};
  program.report.start("round trip", keys);
  std::vector<double> mine;
  Spent spent = run(program.rank, point, meters, mine);
  std::vector<Spent> everybody(static_cast<std::size_t>(program.ranks));
  MPI_Gather(&spent, 4, MPI_DOUBLE, everybody.data(), 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  std::vector<double> measured = hand_over(program.rank, mine);
  const std::vector<double> all = gather(mine, senders);
  const std::vector<double> turns = gather(measured, senders);
  if (program.rank != 0) return;
  if (file) write_latencies(*file, point, all, turns);
  const SideMeans sending(everybody, 0, point.iterations);
  const SideMeans waiting(everybody, 1, point.iterations);
  bench::Keys extra{{"deviation", bench::deviation_of(all)},
                    {"p999", bench::quantile_of(all, 0.999)},
                    {"waiting_median", bench::quantile_of(turns, 0.5)},
                    {"waiting_p99", bench::quantile_of(turns, 0.99)},
                    {"waiting_cpu_us", waiting.cpu_us},
                    {"waiting_cpu_share", waiting.cpu_share},
                    {"sending_cpu_us", sending.cpu_us}};
  if (waiting.joules >= 0) extra.push_back({"waiting_joules", waiting.joules});
  if (sending.joules >= 0) extra.push_back({"sending_joules", sending.joules});
  if (spent.machine_joules >= 0) {
    const auto round_trips = static_cast<double>(all.size());
    extra.push_back({"machine_joules", spent.machine_joules / round_trips});
  }
  program.report.row("round trip", keys, "us", bench::distribution_of(all), extra);
}

// Where this rank shall run: a CPU, or -1 for wherever it is. What every rank may use is known to
// all, so all find the same mistake.
int choose_cpu(const bench::Program& program, std::string& place) {
  const bool asked = !place.empty();
  if (place == "free") return -1;
  if (asked && place != "one" && place != "two")
    throw bench::UsageError("--place is one, two or free, not '" + place + "'");
  const std::vector<int> cpus = bench::allowed_cpus();
  // A launcher may have bound each rank to a CPU of its own already.
  int bound = cpus.size() == 1, all_bound = 0, first = cpus.front();
  std::vector<int> firsts(static_cast<std::size_t>(program.ranks));
  MPI_Allreduce(&bound, &all_bound, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  const std::set<int> different(firsts.begin(), firsts.end());
  const auto rank = static_cast<std::size_t>(program.rank);
  const std::size_t room = all_bound ? different.size() : cpus.size();
  if (place != "one" && room >= firsts.size()) {
    place = "two";
    return all_bound ? first : cpus[rank];
  }
  if (place == "two")
    throw bench::UsageError("--place two wants a CPU for each rank: there are " +
                            std::to_string(room) + " for " + std::to_string(program.ranks));
  if (!asked && room > 1) {
    place = "free";
    return -1;
  }
  for (std::size_t pair = 0; all_bound && pair < firsts.size(); pair += 2)
    if (firsts[pair] != firsts[pair + 1])
      throw bench::UsageError("--place one: the launcher has bound the ranks to different CPUs");
  place = "one";
  return all_bound ? first : cpus[rank / 2 % cpus.size()];
}

void body(bench::Program& program) {
  const std::string mode = program.options.text("mode", "");
  const std::string asked_of_sender = program.options.text("sending-mode", "");
  const std::string sending_mode = asked_of_sender.empty() ? "poll" : asked_of_sender;
  const auto sizes = program.options.sizes("bytes", "1,8,64,512,4K,32K,256K,1M,8M");
  const auto delays = program.options.numbers("delays", "0,10,50,100,200,500,1000");
  const std::string kind = program.options.text("delay", "constant");
  const long iterations = program.options.count("iterations", 0);
  const double seconds = program.options.seconds("seconds", 0);
  std::string place = program.options.text("place", "");
  const std::string path = program.options.text("latencies", "");
  const std::string powercap = program.options.text("powercap", "/sys/class/powercap");
  program.options.finish();
  libra::check_kind(kind);
  if (program.ranks % 2 != 0) throw bench::UsageError("it takes pairs of ranks: mpiexec -n 2");
  for (long bytes : sizes)
    if (bytes < 1 || bytes > 1L << 30)
      throw bench::UsageError("--bytes wants sizes from 1 to 1G, not '" + std::to_string(bytes) +
                              "'");
  if (iterations > most_iterations)
    throw bench::UsageError("--iterations wants at most " + std::to_string(most_iterations) +
                            ", not '" + std::to_string(iterations) + "'");
  if (mode.empty() && !asked_of_sender.empty())
    throw bench::UsageError("--sending-mode is of no use without --mode");
  const int cpu = choose_cpu(program, place);
  if (cpu >= 0) bench::bind_to(cpu);
  Meters meters{bench::EnergyMeter::of_package(cpu >= 0 ? cpu : sched_getcpu(), powercap),
                bench::EnergyMeter::of_machine(powercap)};

  std::ofstream file;
  if (program.rank == 0 && !path.empty()) {
    file.open(path);
    file << "bytes\tdelay_us\tpair\titeration\tlate_us\tround_trip_us\tmeasured_turn_us\n";
    if (!file.flush()) bench::measured_wrong("meantime-libra: cannot write " + path);
  }
  MPI_Comm senders = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, libra::measured_side(program.rank) ? MPI_UNDEFINED : 0, 0,
                 &senders);
  program.begin("libra", {{"mode", mode.empty() ? "not set" : mode},
                          {"sending_mode", mode.empty() ? "not set" : sending_mode},
                          {"place", place},
                          {"energy", said_of(meters.package, " (all of the package)")},
                          {"machine_energy", said_of(meters.machine, "")}});
  for (double delay_us : delays)
    for (long bytes : sizes) {
      long count = iterations > 0 ? iterations : libra::iterations_of_paper(bytes, delay_us);
      if (seconds > 0 && delay_us > 0)
        count = std::clamp(std::lround(seconds * 1e6 / delay_us), std::min(100L, count), count);
      measure(program, {bytes, delay_us, kind, count, seconds}, meters, senders,
              path.empty() ? nullptr : &file);
    }
  if (senders != MPI_COMM_NULL) MPI_Comm_free(&senders);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bench::Options options(argc, argv);
    const std::string mode = options.text("mode", "");
    if (!mode.empty() && !options.flag("help"))
      libra::set_modes(options.text("sending-mode", "poll"), mode);
  } catch (const bench::UsageError& error) {
    return bench::refuse(argv[0], error);
  }
  return bench::run_program(argc, argv, usage, body);
}
