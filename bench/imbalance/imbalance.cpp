// Small programs whose ranks have unlike amounts to compute: how near to perfect balance a step is.
//
// Each step a rank computes its share and then exchanges a halo with both neighbours of a row;
// every tenth step ends with an 8-byte allreduce.
//   triangle   the share grows with the rank (the upper half of a matrix, pairs of particles)
//   heavy      one rank in eight has four times the work of the others
//   half       the upper half of the ranks has next to nothing (LAMMPS with half a box)
//   hotspot    a quarter of the ranks, neighbours, has six times the work; it moves on by one rank
//              every twenty steps, round and round
//   even       the same for all: what a placement or moving costs where there is nothing to gain
// The row "perfect" is what all ranks computed together, by their CPU time, spread evenly over the
// CPUs. (bench/imbalance/measure runs this with each placement and balance.)
#include <unistd.h>

#include <cmath>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "imbalance: time of a step of programs whose ranks have unlike amounts to do\n"
    "  --programs LIST   triangle, heavy, half, hotspot, even (default: all)\n"
    "  --us T            computation of a step of an average rank (default 200)\n"
    "  --rate R          rounds of computation a microsecond (default: as found), so that two "
    "runs\n"
    "                    compute the same\n"
    "  --bytes N         of a halo, each way (default 4K)\n"
    "  --steps N         in a batch, of which there are five (default 100)\n"
    "  --cpus N          that the job has (default: all of the machine)\n"
    "  --json\n";

const int batches = 5;

// What a rank computes in a step, in parts of what an average rank does.
double share(const std::string& program, int rank, int ranks, long step) {
  const double n = ranks;
  if (program == "triangle") return 2 * (rank + 0.5) / n;
  if (program == "heavy") {
    const int heavy = (ranks + 7) / 8;
    return (rank % 8 == 0 ? 4 : 1) * n / (n + 3 * heavy);
  }
  if (program == "even") return 1;
  if (program == "half") return rank < (ranks + 1) / 2 ? 1.98 : 0.02;
  const int width = std::max(1, ranks / 4), from = static_cast<int>(step / 20 % ranks);
  const bool hot = (rank - from + ranks) % ranks < width;
  return (hot ? 6 : 1) * n / (n + 5 * width);
}

std::uint64_t compute(std::uint64_t rounds) {
  std::uint64_t value = rounds | 1;
  for (std::uint64_t i = 0; i < rounds; i++) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
  return value;
}

// As rank 0 finds it, the best of several.
double rounds_per_microsecond() {
  double rate = 0;
  for (int i = 0; i < 20; i++) {
    const std::uint64_t start = bench::thread_cpu_ns(), rounds = 100000;
    compute(rounds);
    rate = std::max(rate, 1e3 * static_cast<double>(rounds) /
                              static_cast<double>(bench::thread_cpu_ns() - start));
  }
  MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return rate;
}

class Steps {
 public:
  Steps(const bench::Program& program, const std::string& name, double rounds, long bytes)
      : name_(name),
        rank_(program.rank),
        ranks_(program.ranks),
        bytes_(static_cast<int>(bytes)),
        rounds_(rounds),
        out_(2 * static_cast<std::size_t>(bytes)),
        in_(2 * static_cast<std::size_t>(bytes)) {}

  void run(long count) {
    for (long i = 0; i < count; i++, step_++) {
      const std::uint64_t start = bench::thread_cpu_ns();
      compute(static_cast<std::uint64_t>(rounds_ * share(name_, rank_, ranks_, step_)));
      computed_ns += static_cast<double>(bench::thread_cpu_ns() - start);
      exchange();
      if (step_ % 10 == 9) {
        double mine = 1, all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (std::lround(all) != ranks_) bench::measured_wrong("imbalance: a sum is wrong");
      }
    }
  }

  double computed_ns = 0;

 private:
  void exchange() {
    const int left = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL;
    const int right = rank_ + 1 < ranks_ ? rank_ + 1 : MPI_PROC_NULL;
    const std::size_t half = out_.size() / 2;
    MPI_Request requests[4];
    MPI_Irecv(in_.data(), bytes_, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in_.data() + half, bytes_, MPI_CHAR, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out_.data(), bytes_, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out_.data() + half, bytes_, MPI_CHAR, left, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }

  std::string name_;
  int rank_, ranks_, bytes_;
  double rounds_;
  long step_ = 0;
  std::vector<char> out_, in_;
};

void measure(bench::Program& program, const std::string& name, double rounds, long bytes,
             long count, long cpus) {
  const bench::Keys keys{{"bytes", bytes}};
  program.report.start(name, keys);
  Steps steps(program, name, rounds, bytes);
  steps.run(count / 5 + 1);  // by then ranks that move have moved
  std::vector<double> values, perfect;
  // A thread rank is bound to one of them: its own mask does not tell.
  const double parts = std::min<double>(program.ranks, static_cast<double>(cpus));
  for (int batch = 0; batch < batches; batch++) {
    steps.computed_ns = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const std::uint64_t start = bench::now_ns();
    steps.run(count);
    double mine = static_cast<double>(bench::now_ns() - start), slowest = 0, computed = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&steps.computed_ns, &computed, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    values.push_back(slowest / static_cast<double>(count));
    perfect.push_back(computed / parts / static_cast<double>(count));
  }
  program.report.row(name, keys, "us", bench::distribution_of(values).scaled(1e-3));
  program.report.row(name + ": perfect", keys, "us", bench::distribution_of(perfect).scaled(1e-3));
}

void body(bench::Program& program) {
  const auto names = program.options.texts("programs", "triangle,heavy,half,hotspot,even");
  const double us = program.options.numbers("us", "200").front();
  const double rate = program.options.numbers("rate", "0").front();
  const long bytes = program.options.sizes("bytes", "4K").front();
  const long steps = program.options.number("steps", 100);
  const long cpus = program.options.number("cpus", sysconf(_SC_NPROCESSORS_ONLN));
  for (const std::string& name : names)
    if (name != "triangle" && name != "heavy" && name != "half" && name != "hotspot" &&
        name != "even")
      throw bench::UsageError("there is no program '" + name + "'");
  if (us <= 0 || rate < 0 || steps < 1 || cpus < 1)
    throw bench::UsageError("--us, --rate, --steps and --cpus are more than 0");
  const double rounds_per_us = rate > 0 ? rate : rounds_per_microsecond();
  program.begin("imbalance", {{"us", us}, {"steps", steps}, {"rate", rounds_per_us}});
  const double rounds = us * rounds_per_us;
  for (const std::string& name : names) measure(program, name, rounds, bytes, steps, cpus);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
