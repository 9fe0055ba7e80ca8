// Collectives and a halo exchange with (far) more ranks than cores.
//
// A sample is a batch of turns; its value is the slowest rank's time, divided by the turns. The
// columns median, mean and min are over five batches; p99 and max are of single turns as rank 0
// sees them. On the communicator `half` the ranks are shuffled and split in two halves, which both
// work at the same time. `random` runs a fixed random sequence of the collectives on both
// communicators, each rank computing for a random while before each.
#include <unistd.h>

#include <random>

#include "operations.h"

namespace {

const char usage[] =
    "oversubscription: time of an operation with any number of ranks\n"
    "  --operations LIST      barrier, allreduce, halo, bcast, scatter, allgather, alltoall,\n"
    "                         random (default: all)\n"
    "  --bytes LIST           of bcast, scatter, allgather, alltoall, allreduce\n"
    "                         (default 1K,4K,16K,64K,256K,1M; allreduce also 8; halo always 1K;\n"
    "                         bytes are per pair of ranks, as OSU's)\n"
    "  --communicators LIST   world, half (default: both)\n"
    "  --seconds S            per point, about (default 0.5); `random` has its number\n"
    "  --memory BYTES         skip points that need more in all (default: half of what is free)\n"
    "  --compute-us C         mean computation before an operation of `random` (default 50)\n"
    "  --random-operations N  length of the random sequence (default 100)\n"
    "  --json\n";

const int batches = 5;

struct Setting {
  std::vector<std::string> operations, communicators;
  std::vector<long> sizes;
  double seconds, memory, compute_us;
  long random_operations;
  bool small_allreduce;  // 8 bytes too
};

// The ranks shuffled (the same way everywhere), the even places one half and the odd the other.
MPI_Comm shuffled_half(int rank, int ranks) {
  std::vector<int> place(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; i++) place[static_cast<std::size_t>(i)] = i;
  std::mt19937 random(12345);
  for (std::size_t i = place.size(); i > 1; i--) std::swap(place[i - 1], place[random() % i]);
  const int mine = place[static_cast<std::size_t>(rank)];
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, mine % 2, mine, &half);
  return half;
}

struct Batches {
  int rank;
  std::vector<double> values, turns;  // ns: a turn of each batch's slowest rank; rank 0's turns

  // Between the turns only rank 0 looks at the clock: many ranks on a core that all do would be a
  // third of a barrier of thread ranks.
  template <class Turn>
  void run(long count, Turn&& turn) {
    std::vector<std::uint64_t> stamps;
    stamps.reserve(static_cast<std::size_t>(count) + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::uint64_t start = bench::now_ns();
    stamps.push_back(start);
    for (long i = 0; i < count; i++) {
      turn(i);
      if (rank == 0) stamps.push_back(bench::now_ns());
    }
    double mine = static_cast<double>(bench::now_ns() - start), slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const std::vector<double> single = bench::differences(stamps);
    values.push_back(slowest / static_cast<double>(count));
    turns.insert(turns.end(), single.begin(), single.end());
  }

  bench::Distribution distribution() const {
    bench::Distribution result = bench::distribution_of(values);
    const bench::Distribution single = bench::distribution_of(turns);
    result.p99 = single.p99;
    result.max = single.max;
    result.samples = single.samples;
    return result.scaled(1e-3);
  }
};

void measure(bench::Program& program, const std::string& name, const std::string& where,
             MPI_Comm comm, long bytes, const Setting& setting) {
  const bench::Keys keys{{"communicator", where}, {"bytes", bytes}};
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const int halves = where == "half" ? 2 : 1;
  if (halves * bench::memory_of(name, ranks, bytes) > setting.memory) {
    program.report.skip(name, keys, "needs more memory than --memory");
    return;
  }
  program.report.start(name, keys);
  const auto operation = bench::make_operation(name, comm, bytes);
  int right = operation->right(), all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (!all_right) bench::measured_wrong(name + ": the result is wrong");
  long number = 0;
  // Tried out as it is measured, until all have done it: rank 0 may be through long before.
  const long fitting =
      bench::turns_in(MPI_COMM_WORLD, setting.seconds, batches, 100000, [&](long n) {
        for (long i = 0; i < n; i++) operation->turn(number++);
        MPI_Barrier(MPI_COMM_WORLD);
      });
  long turns = fitting / batches;
  Batches result{.rank = program.rank, .values = {}, .turns = {}};
  for (int batch = 0; batch < batches; batch++) {
    result.run(turns, [&](long) { operation->turn(number++); });
    // Turns that take longer than those that were tried: the same answer on every rank.
    const double wanted_ns = setting.seconds * 1e9 / batches;
    if (result.values.back() * static_cast<double>(turns) > 2 * wanted_ns)
      turns = std::max(1L, static_cast<long>(wanted_ns / result.values.back()));
  }
  program.report.row(name, keys, "us", result.distribution());
}

// Arithmetic that nobody can leave out. Returns something that depends on all of it.
std::uint64_t compute(std::uint64_t rounds) {
  std::uint64_t value = rounds | 1;
  for (std::uint64_t i = 0; i < rounds; i++) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
  return value;
}

// Rank 0 measures while the others are likely to wait; the best of several is undisturbed.
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

void measure_random(bench::Program& program, MPI_Comm half, const Setting& setting) {
  const bench::Keys keys{{"communicator", "both"},
                         {"compute us", setting.compute_us},
                         {"operations", setting.random_operations}};
  program.report.start("random", keys);
  const double rate = rounds_per_microsecond();
  // Alltoall and Allgather take sizes up to 64 KiB here: larger ones would be all that is seen.
  struct Step {
    bench::Operation* operation;
    std::uint64_t rounds;
  };
  std::vector<std::unique_ptr<bench::Operation>> pool;
  for (MPI_Comm comm : {MPI_COMM_WORLD, half})
    for (const char* name : {"bcast", "allgather", "alltoall", "allreduce"})
      for (long bytes : setting.sizes)
        if (bytes <= 65536 || name[0] == 'b' || std::string(name) == "allreduce")
          pool.push_back(bench::make_operation(name, comm, bytes));
  std::mt19937 shared(2718), own(static_cast<unsigned>(31 + program.rank));
  std::vector<Step> steps;
  double computation = 0;
  for (long i = 0; i < setting.random_operations; i++) {
    const double us = 2 * setting.compute_us * (own() % 10001) / 10000.0;
    computation += us;
    steps.push_back({pool[shared() % pool.size()].get(), static_cast<std::uint64_t>(us * rate)});
  }
  Batches result{.rank = program.rank, .values = {}, .turns = {}};
  for (int batch = 0; batch < batches; batch++)
    result.run(static_cast<long>(steps.size()), [&](long i) {
      const Step& step = steps[static_cast<std::size_t>(i)];
      compute(step.rounds);
      step.operation->turn(i);
    });
  program.report.row("random", keys, "us", result.distribution());
  double all = 0;
  MPI_Reduce(&computation, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  // What the same computation would take with no MPI at all, spread evenly over the cores.
  const double cpus = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const double ideal =
      all / static_cast<double>(steps.size()) / std::min<double>(cpus, program.ranks);
  program.report.row("random: computation", keys, "us",
                     bench::Distribution{ideal, ideal, ideal, ideal, ideal, 1});
}

double half_of_free_memory() {
  double bytes = 0.5 * static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) *
                 static_cast<double>(sysconf(_SC_PAGESIZE));
  MPI_Bcast(&bytes, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return bytes;
}

void measure_all(bench::Program& program, const Setting& setting) {
  const MPI_Comm half = shuffled_half(program.rank, program.ranks);
  for (const std::string& name : setting.operations) {
    if (name == "random") {
      measure_random(program, half, setting);
      continue;
    }
    std::vector<long> sizes = setting.sizes;
    if (name == "barrier") sizes = {0};
    if (name == "halo") sizes = {1024};
    if (name == "allreduce" && setting.small_allreduce) sizes.insert(sizes.begin(), 8);
    for (const std::string& where : setting.communicators)
      for (long bytes : sizes)
        measure(program, name, where, where == "half" ? half : MPI_COMM_WORLD, bytes, setting);
  }
  MPI_Comm copy = half;
  MPI_Comm_free(&copy);
}

void body(bench::Program& program) {
  Setting setting;
  setting.operations = program.options.texts(
      "operations", "barrier,allreduce,halo,bcast,scatter,allgather,alltoall,random");
  setting.communicators = program.options.texts("communicators", "world,half");
  setting.sizes = program.options.sizes("bytes", "1K,4K,16K,64K,256K,1M");
  setting.small_allreduce = program.options.text("bytes", "").empty();
  setting.seconds = program.options.seconds("seconds", 0.5);
  setting.compute_us = program.options.numbers("compute-us", "50").front();
  setting.random_operations = program.options.number("random-operations", 100);
  const long memory = program.options.number("memory", 0);
  for (const std::string& name : setting.operations)
    if (name != "random")
      bench::make_operation(name, MPI_COMM_SELF, 8);  // complains of a wrong name
  for (const std::string& where : setting.communicators)
    if (where != "world" && where != "half")
      throw bench::UsageError("--communicators are world and half");
  for (long bytes : setting.sizes)
    if (bytes < 8 || bytes % 8) throw bench::UsageError("--bytes are multiples of 8");
  if (program.ranks < 2) throw bench::UsageError("oversubscription wants 2 ranks or more");
  program.begin("oversubscription", {{"seconds per point", setting.seconds}});
  setting.memory = memory ? static_cast<double>(memory) : half_of_free_memory();
  measure_all(program, setting);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
