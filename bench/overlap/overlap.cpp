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
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

const char usage[] =
    "meantime-overlap: a 2-D stencil's computation and communication, alone and together\n"
    "  --per-core V        ranks that share a core (default 1): each does 1/V of a core's work\n"
    "  --compute-us C      computation of a core in one turn (default 1000)\n"
    "  --bytes B[,B...]    of a core to each of its four neighbours (default 64K,256K,1M,4M)\n"
    "  --turns N           of one batch (default 20)\n"
    "  --batches N         (default 5)\n"
    "  --torus             one torus of all ranks\n"
    "  --phases LIST       of comp, comm, full (default: all)\n"
    "  --waitall           also print quantiles of the time in each MPI_Waitall of `full`\n";

struct Setting {
  int per_core = 1, turns = 20, batches = 5;
  double compute_us = 1000;
  std::vector<long> bytes{64L << 10, 256L << 10, 1L << 20, 4L << 20};
  std::string phases = "comp,comm,full";
  bool waitall = false, torus = false;
};

enum Phase { comp, comm, full, phases };
const char* const names[phases] = {"comp", "comm", "full"};

long size_of(const std::string& text) {
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  return static_cast<long>(number * (*rest == 'K' ? 1024 : *rest == 'M' ? 1 << 20 : 1));
}

bool read(int argc, char** argv, Setting& setting) {
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--waitall" || word == "--torus") {
      (word == "--torus" ? setting.torus : setting.waitall) = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (word == "--per-core") {
      setting.per_core = std::atoi(value.c_str());
    } else if (word == "--compute-us") {
      setting.compute_us = std::atof(value.c_str());
    } else if (word == "--turns") {
      setting.turns = std::atoi(value.c_str());
    } else if (word == "--batches") {
      setting.batches = std::atoi(value.c_str());
    } else if (word == "--phases") {
      setting.phases = value;
    } else if (word == "--bytes") {
      setting.bytes.clear();
      for (std::size_t begin = 0; begin <= value.size();) {
        const std::size_t end = std::min(value.find(',', begin), value.size());
        setting.bytes.push_back(size_of(value.substr(begin, end - begin)));
        begin = end + 1;
      }
    } else {
      return false;
    }
  }
  return setting.per_core > 0 && setting.turns > 0 && setting.batches > 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

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
    MPI_Comm_split(MPI_COMM_WORLD, setting.torus ? 0 : rank % setting.per_core, rank, &plane);
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
    for (int turn = 0; turn < setting_.turns; turn++) {
      if (phase != comm) compute(rounds_);
      if (phase != comp) exchange(phase == full);
    }
    double mine[2] = {-start, MPI_Wtime()}, all[2] = {0, 0};
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (all[0] + all[1]) / setting_.turns;
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
void print_waits(const std::vector<double>& mine, long bytes, int rank, int ranks) {
  std::vector<double> all(rank == 0 ? mine.size() * static_cast<std::size_t>(ranks) : 0);
  const int count = static_cast<int>(mine.size());
  MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i <= 100; i++)
    std::printf("waitall %ld %.2f %.2f\n", bytes, static_cast<double>(i) / 100,
                all[std::min(all.size() - 1, i * all.size() / 100)] * 1e6);
}

void measure(const Setting& setting, double rate, long bytes, int rank, int ranks) {
  Stencil stencil(setting, std::lround(setting.compute_us / setting.per_core * rate),
                  bytes / setting.per_core);
  bool wanted[phases];
  for (int phase = 0; phase < phases; phase++)
    wanted[phase] = setting.phases.find(names[phase]) != std::string::npos;
  std::vector<double> times[phases];
  if (wanted[comm] || wanted[full]) stencil.batch(comm);  // warm
  for (int batch = 0; batch < setting.batches; batch++)
    for (int phase = 0; phase < phases; phase++)
      if (wanted[phase]) times[phase].push_back(stencil.batch(static_cast<Phase>(phase)));
  if ((wanted[comm] || wanted[full]) && !stencil.right()) {
    std::fprintf(stderr, "meantime-overlap: wrong data arrived\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (rank == 0) {
    std::printf("bytes %ld", bytes);
    for (int phase = 0; phase < phases; phase++)
      if (wanted[phase]) std::printf("  T_%s %.1f us", names[phase], median(times[phase]) * 1e6);
    if (wanted[comp] && wanted[comm] && wanted[full]) {
      const double one = median(times[comp]), other = median(times[comm]);
      std::printf("  T_full/max %.3f  hidden %.0f %%", median(times[full]) / std::max(one, other),
                  100 * (one + other - median(times[full])) / std::min(one, other));
    }
    std::printf("\n");
  }
  if (setting.waitall && wanted[full]) print_waits(stencil.waits(), bytes, rank, ranks);
  if (rank == 0) std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Setting setting;
  if (read(argc, argv, setting)) {
    const double rate = rounds_per_us();
    if (rank == 0)
      std::printf("# %d ranks, %d a core; a core computes %.0f us a turn\n", ranks,
                  setting.per_core, setting.compute_us);
    for (long bytes : setting.bytes) measure(setting, rate, bytes, rank, ranks);
  } else {
    if (rank == 0) std::fprintf(stderr, "%s", usage);
    status = 2;
  }
  MPI_Finalize();
  return status;
}
