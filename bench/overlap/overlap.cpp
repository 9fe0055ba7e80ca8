// meantime-overlap: how much of its communication a program hides that does nothing for it (the
// benchmark of the paper on MPI virtualization, its Listing 4). A 2-D stencil on a torus: compute,
// then Irecv and Isend with four neighbours and one Waitall; no computation stands between the two.
//   T_comp   the computation alone       T_full   both
//   T_comm   the communication alone
// T_full = max(T_comp, T_comm) is full overlap, T_comp + T_comm is none. Whatever overlap there is
// comes from the MPI, when it runs another rank of the same core while this one waits.
//
// --post-first is the program that does something for it: Irecv and Isend, compute, Waitall.
//
// Ranks of a core are no neighbours (the paper: no communication in shared memory): the V ranks of
// each core are in V tori over the cores, rank r on core r / V. If ranks of a core were neighbours,
// each would need what the last one of them computed, and nobody would be left to compute
// meanwhile; --torus shows that.
//
// --one-way WHO (the paper's Section 4.3) is one side of the rendezvous alone: of each pair of
// cores the ranks of the first one send to those of the second one. The side that is named computes
// as well; the other one is always in MPI.
//   receiver-early  the receive is posted before the sender begins, which waits for a message that
//                   says so. Two gaps: until ready-to-send is there, and until the data are
//   receiver-late   the sender has begun long before: one gap
//   sender          the receive is posted before: two gaps, or one if ready-to-receive comes at
//   once
//
// Work is per core, not per rank: with V ranks a core (--per-core V) each rank computes 1/V of
// --compute-us and sends messages of 1/V of --bytes, so figures of different V compare.
// The three phases are run in turns, --batches times; a time is that of one turn, from when the
// first rank begins until the last one ends, the median of the batches. So the ranks' MPI_Wtime
// must be one clock: one node, or MPI_WTIME_IS_GLOBAL. Any MPI: compile with its C++ wrapper,
// -std=c++17.
#include <algorithm>
#include <cmath>

#include "../common/compute.h"
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
    "  --post-first        begin to communicate, compute, then wait\n"
    "  --one-way WHEN      each second core receives from the one before it; the receive is "
    "posted\n"
    "                      early or late (before or after the sender has begun)\n"
    "  --phases LIST       of comp, comm, full (default: all)\n"
    "  --waitall           also print quantiles of the time in each MPI_Waitall of `full`\n"
    "  --json              one JSON object a line\n";

struct Setting {
  long per_core, turns, batches;
  double compute_us;
  std::vector<long> bytes;
  bool waitall, torus, post_first;
  std::string one_way;
};

enum Phase { comp, comm, full, phases };
const char* const names[phases] = {"comp", "comm", "full"};

// What a rank does in a batch.
class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual double batch(Phase phase) = 0;
  virtual bool right() const = 0;
  const std::vector<double>& waits() const { return waits_; }

 protected:
  // Of all ranks, from the first one's begin: those that share a core may begin when others have
  // ended.
  static double seconds_a_turn(double start, long turns) {
    double mine[2] = {-start, MPI_Wtime()}, all[2] = {0, 0};
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (all[0] + all[1]) / static_cast<double>(turns);
  }
  std::vector<double> waits_;
};

class Stencil : public Pattern {
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
  ~Stencil() override { MPI_Comm_free(&torus_); }
  Stencil(const Stencil&) = delete;
  Stencil& operator=(const Stencil&) = delete;

  double batch(Phase phase) override {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long turn = 0; turn < setting_.turns; turn++) {
      if (phase != comp && setting_.post_first) begin();
      if (phase != comm) bench::compute(rounds_);
      if (phase != comp && !setting_.post_first) begin();
      if (phase != comp) end(phase == full);
    }
    return seconds_a_turn(start, setting_.turns);
  }

  bool right() const override {
    // What comes from below was sent upwards: side s receives what its opposite sent.
    for (int side = 0; side < 4; side++)
      for (char byte : in_[side])
        if (byte != static_cast<char>(side ^ 1)) return false;
    return true;
  }

 private:
  void begin() {
    for (int side = 0; side < 4; side++)
      MPI_Irecv(in_[side].data(), bytes_, MPI_CHAR, neighbour_[side], side ^ 1, torus_,
                &requests_[side]);
    for (int side = 0; side < 4; side++)
      MPI_Isend(out_[side].data(), bytes_, MPI_CHAR, neighbour_[side], side, torus_,
                &requests_[4 + side]);
  }
  void end(bool record) {
    const double start = MPI_Wtime();
    MPI_Waitall(8, requests_, MPI_STATUSES_IGNORE);
    if (record) waits_.push_back(MPI_Wtime() - start);
  }

  const Setting& setting_;
  const long rounds_;
  const int bytes_;
  MPI_Comm torus_ = MPI_COMM_NULL;
  MPI_Request requests_[8];
  int neighbour_[4] = {};
  std::vector<char> out_[4], in_[4];
};

class OneWay : public Pattern {
 public:
  OneWay(const Setting& setting, long rounds, long bytes)
      : setting_(setting), rounds_(rounds), says_posted_(setting.one_way != "receiver-late") {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int per_core = static_cast<int>(setting.per_core);
    receives_ = rank / per_core % 2 == 1;
    computes_ = receives_ != (setting.one_way == "sender");
    peer_ = rank + (receives_ ? -per_core : per_core);
    data_.assign(static_cast<std::size_t>(bytes), receives_ ? '0' : '1');
  }

  double batch(Phase phase) override {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long turn = 0; turn < setting_.turns; turn++) {
      if (computes_ && phase != comm) bench::compute(rounds_);
      if (phase != comp) exchange(phase == full && computes_);
    }
    return seconds_a_turn(start, setting_.turns);
  }

  bool right() const override {
    return std::all_of(data_.begin(), data_.end(), [](char byte) { return byte == '1'; });
  }

 private:
  static constexpr int data_tag = 0, posted_tag = 1;

  void exchange(bool record) {
    const int bytes = static_cast<int>(data_.size());
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (receives_) {
      MPI_Irecv(data_.data(), bytes, MPI_CHAR, peer_, data_tag, MPI_COMM_WORLD, &requests[0]);
      // Synchronous: this rank comes to MPI to send, which lets the others of its core answer.
      if (says_posted_)
        MPI_Issend(nullptr, 0, MPI_CHAR, peer_, posted_tag, MPI_COMM_WORLD, &requests[1]);
    } else {
      if (says_posted_)
        MPI_Recv(nullptr, 0, MPI_CHAR, peer_, posted_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Isend(data_.data(), bytes, MPI_CHAR, peer_, data_tag, MPI_COMM_WORLD, &requests[0]);
    }
    const double start = MPI_Wtime();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (record) waits_.push_back(MPI_Wtime() - start);
  }

  const Setting& setting_;
  const long rounds_;
  const bool says_posted_;
  bool receives_ = false, computes_ = false;
  int peer_ = 0;
  std::vector<char> data_;
};

// Of all ranks that had any, in 100 steps.
void print_waits(bench::Program& program, const std::vector<double>& mine, long bytes) {
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(program.ranks)), places(counts);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (std::size_t rank = 1; rank < places.size(); rank++)
    places[rank] = places[rank - 1] + counts[rank - 1];
  std::vector<double> all(static_cast<std::size_t>(places.back() + counts.back()));
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), places.data(), MPI_DOUBLE,
              0, MPI_COMM_WORLD);
  if (program.rank != 0) return;
  std::sort(all.begin(), all.end());
  std::vector<double> steps;
  for (std::size_t i = 0; i <= 100; i++)
    steps.push_back(all[std::min(all.size() - 1, i * all.size() / 100)] * 1e6);
  program.report.list("waitall", {{"bytes", bytes}}, "us", steps);
}

void measure(bench::Program& program, const Setting& setting, const bool (&wanted)[phases],
             double rate, long bytes) {
  const long rounds =
      std::lround(setting.compute_us / static_cast<double>(setting.per_core) * rate);
  std::unique_ptr<Pattern> pattern;
  if (setting.one_way.empty())
    pattern = std::make_unique<Stencil>(setting, rounds, bytes / setting.per_core);
  else
    pattern = std::make_unique<OneWay>(setting, rounds, bytes / setting.per_core);
  std::vector<double> times[phases];
  if (wanted[comm] || wanted[full]) pattern->batch(comm);  // warm
  for (long batch = 0; batch < setting.batches; batch++)
    for (int phase = 0; phase < phases; phase++)
      if (wanted[phase]) times[phase].push_back(pattern->batch(static_cast<Phase>(phase)) * 1e6);
  if ((wanted[comm] || wanted[full]) && !pattern->right())
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
  if (setting.waitall && wanted[full]) print_waits(program, pattern->waits(), bytes);
}

void body(bench::Program& program) {
  bench::Options& options = program.options;
  Setting setting{options.number("per-core", 1),
                  options.number("turns", 20),
                  options.number("batches", 5),
                  static_cast<double>(options.number("compute-us", 1000)),
                  options.sizes("bytes", "64K,256K,1M,4M"),
                  options.flag("waitall"),
                  options.flag("torus"),
                  options.flag("post-first"),
                  options.text("one-way", "")};
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
  if (!setting.one_way.empty() && setting.one_way != "sender" &&
      setting.one_way != "receiver-early" && setting.one_way != "receiver-late")
    throw bench::UsageError("--one-way is sender, receiver-early or receiver-late");
  if (setting.post_first && !setting.one_way.empty())
    throw bench::UsageError("--post-first and --one-way exclude each other");
  if (!setting.one_way.empty() && program.ranks % (2 * setting.per_core) != 0)
    throw bench::UsageError("--one-way wants an even number of cores: 2 V ranks, 4 V ...");
  for (long bytes : setting.bytes)
    if (bytes > 1L << 30) throw bench::UsageError("--bytes: at most 1G");
  const double rate = bench::rounds_per_us();
  program.begin("overlap", {{"per_core", setting.per_core}, {"compute_us", setting.compute_us}});
  for (long bytes : setting.bytes) measure(program, setting, wanted, rate, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
