// meantime-overlap: how much of its communication a program hides that does nothing for it (the
// benchmark of the paper on MPI virtualization, its Listing 4). A 2-D stencil on a torus: compute,
// then Irecv and Isend with four neighbours and one Waitall; no computation stands between the two.
//   T_comp   the computation alone       T_full   both
//   T_comm   the communication alone
// T_full = max(T_comp, T_comm) is full overlap, T_comp + T_comm is none. Whatever overlap there is
// comes from the MPI, when it runs another rank of the same core while this one waits.
//
// Ranks of a core are no neighbours (the paper: no communication in shared memory): the V ranks of
// each core are in V tori over the cores, rank r on core r / V. If ranks of a core were neighbours,
// each would need what the last one of them computed, and nobody would be left to compute
// meanwhile; --torus shows that.
//
// Work is per core, not per rank: with V ranks a core (--per-core V) each rank computes 1/V of
// --compute-us and sends messages of 1/V of --bytes, so figures of different V compare.
// The three phases are run in turns, --batches times; a time is that of one turn, from when the
// first rank begins until the last one ends, the median of the batches. So the ranks' MPI_Wtime
// must be one clock: one node, or MPI_WTIME_IS_GLOBAL. Any MPI: compile with its C++ wrapper,
// -std=c++17.
#include <algorithm>
#include <cmath>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "meantime-overlap: a 2-D stencil's computation and communication, alone and together\n"
    "mpiexec --as threads -n 4 meantime-overlap --per-core 2\n"
    "  --per-core V        ranks that share a core (default 1): each does 1/V of a core's work\n"
    "  --compute-us C      computation of a core in one turn (default 1000)\n"
    "  --bytes LIST        of a core to each of its four neighbours (default 64K,256K,1M,4M)\n"
    "  --turns N           of one batch (default 20)\n"
    "  --batches N         (default 5)\n"
    "  --torus             one torus of all ranks\n"
    "  --phases LIST       of comp, comm, full (default: all)\n"
    "  --waitall           also print quantiles of the time in each MPI_Waitall of `full`\n"
    "  --json              one JSON object a line\n";

struct Setting {
  long per_core, turns, batches;
  double compute_us;
  std::vector<long> bytes;
  bool waitall, torus;
};

enum Phase { comp, comm, full, phases };
const char* const names[phases] = {"comp", "comm", "full"};

// Arithmetic that touches no memory, so that it takes as long beside copies as alone.
void compute(long rounds) {
  double x = 1;
  for (long i = 0; i < rounds; i++) {
    x = x * 1.0000001 + 1e-9;
    asm volatile("" : "+x"(x));
  }
}

// The quickest of many short tries on an otherwise idle core; everybody takes rank 0's.
double rounds_per_us() {
  double rate = 0;
  for (int i = 0; i < 50; i++) {
    const double start = MPI_Wtime();
    compute(20000);
    rate = std::max(rate, 20000 / ((MPI_Wtime() - start) * 1e6));
  }
  MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return rate;
}

class Stencil {
 public:
  Stencil(const Setting& setting, long rounds, long bytes)
      : setting_(setting), rounds_(rounds), bytes_(static_cast<int>(bytes)) {
    int rank = 0, ranks = 0, sides[2] = {0, 0}, around[2] = {1, 1};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm plane = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, setting.torus ? 0 : rank % static_cast<int>(setting.per_core),
                   rank, &plane);
    MPI_Comm_size(plane, &ranks);
    MPI_Dims_create(ranks, 2, sides);
    MPI_Cart_create(plane, 2, sides, around, 0, &torus_);
    MPI_Comm_free(&plane);
    MPI_Cart_shift(torus_, 0, 1, &neighbour_[0], &neighbour_[1]);
    // Two cores in a row: all four sides are the other one's, not half of them its own.
    MPI_Cart_shift(torus_, sides[1] > 1 ? 1 : 0, 1, &neighbour_[2], &neighbour_[3]);
    for (int side = 0; side < 4; side++) {
      out_[side].assign(static_cast<std::size_t>(bytes), static_cast<char>(side));
      in_[side].assign(static_cast<std::size_t>(bytes), 0);
    }
  }
  ~Stencil() { MPI_Comm_free(&torus_); }

  // Seconds a turn. Ranks that share a core may begin when others have ended.
  double batch(Phase phase) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long turn = 0; turn < setting_.turns; turn++) {
      if (phase != comm) compute(rounds_);
      if (phase != comp) exchange(phase == full);
    }
    double mine[2] = {-start, MPI_Wtime()}, all[2] = {0, 0};
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (all[0] + all[1]) / static_cast<double>(setting_.turns);
  }

  bool right() const {
    // What comes from below was sent upwards: side s receives what its opposite sent.
    for (int side = 0; side < 4; side++)
      for (char byte : in_[side])
        if (byte != static_cast<char>(side ^ 1)) return false;
    return true;
  }
  const std::vector<double>& waits() const { return waits_; }

 private:
  void exchange(bool record) {
    MPI_Request requests[8];
    for (int side = 0; side < 4; side++)
      MPI_Irecv(in_[side].data(), bytes_, MPI_CHAR, neighbour_[side], side ^ 1, torus_,
                &requests[side]);
    for (int side = 0; side < 4; side++)
      MPI_Isend(out_[side].data(), bytes_, MPI_CHAR, neighbour_[side], side, torus_,
                &requests[4 + side]);
    const double start = MPI_Wtime();
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    if (record) waits_.push_back(MPI_Wtime() - start);
  }

  const Setting& setting_;
  const long rounds_;
  const int bytes_;
  MPI_Comm torus_ = MPI_COMM_NULL;
  int neighbour_[4] = {};
  std::vector<char> out_[4], in_[4];
  std::vector<double> waits_;
};

// Of all ranks, in 100 steps.
void print_waits(bench::Program& program, const std::vector<double>& mine, long bytes) {
  std::vector<double> all(program.rank == 0 ? mine.size() * static_cast<std::size_t>(program.ranks)
                                            : 0);
  const int count = static_cast<int>(mine.size());
  MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (program.rank != 0) return;
  std::sort(all.begin(), all.end());
  std::vector<double> steps;
  for (std::size_t i = 0; i <= 100; i++)
    steps.push_back(all[std::min(all.size() - 1, i * all.size() / 100)] * 1e6);
  program.report.list("waitall", {{"bytes", bytes}}, "us", steps);
}

void measure(bench::Program& program, const Setting& setting, const bool (&wanted)[phases],
             double rate, long bytes) {
  Stencil stencil(setting,
                  std::lround(setting.compute_us / static_cast<double>(setting.per_core) * rate),
                  bytes / setting.per_core);
  std::vector<double> times[phases];
  if (wanted[comm] || wanted[full]) stencil.batch(comm);  // warm
  for (long batch = 0; batch < setting.batches; batch++)
    for (int phase = 0; phase < phases; phase++)
      if (wanted[phase]) times[phase].push_back(stencil.batch(static_cast<Phase>(phase)) * 1e6);
  if ((wanted[comm] || wanted[full]) && !stencil.right())
    bench::measured_wrong("meantime-overlap: wrong data arrived");
  bench::Distribution of[phases];
  for (int phase = 0; phase < phases; phase++) of[phase] = bench::distribution_of(times[phase]);
  bench::Keys besides;
  if (wanted[comp] && wanted[comm] && wanted[full]) {
    const double one = of[comp].median, other = of[comm].median, both = of[full].median;
    besides = {{"full_by_max", both / std::max(one, other)},
               {"hidden_share", (one + other - both) / std::min(one, other)}};
  }
  for (int phase = 0; phase < phases; phase++)
    if (wanted[phase])
      program.report.row(std::string("T_") + names[phase], {{"bytes", bytes}}, "us", of[phase],
                         phase == full ? besides : bench::Keys{});
  if (setting.waitall && wanted[full]) print_waits(program, stencil.waits(), bytes);
}

void body(bench::Program& program) {
  bench::Options& options = program.options;
  Setting setting{options.number("per-core", 1),
                  options.number("turns", 20),
                  options.number("batches", 5),
                  static_cast<double>(options.number("compute-us", 1000)),
                  options.sizes("bytes", "64K,256K,1M,4M"),
                  options.flag("waitall"),
                  options.flag("torus")};
  bool wanted[phases] = {};
  for (const std::string& word : options.texts("phases", "comp,comm,full")) {
    const auto found = std::find(std::begin(names), std::end(names), word);
    if (found == std::end(names))
      throw bench::UsageError("--phases: there is no phase '" + word + "'");
    wanted[found - std::begin(names)] = true;
  }
  options.finish();
  if (setting.per_core < 1 || setting.turns < 1 || setting.batches < 1)
    throw bench::UsageError("--per-core, --turns and --batches are at least 1");
  for (long bytes : setting.bytes)
    if (bytes > 1L << 30) throw bench::UsageError("--bytes: at most 1G");
  const double rate = rounds_per_us();
  program.begin("overlap", {{"per_core", setting.per_core}, {"compute_us", setting.compute_us}});
  for (long bytes : setting.bytes) measure(program, setting, wanted, rate, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
