// Particles that gather in a cluster, in slabs of a box, one slab a rank. It stands for Gadget-2,
// with which the paper on collaborative polling measures (its Figures 9 and 10): each step forces
// between particles that are near, which take longer where the cluster is; an Allgather of how many
// leave each rank for each other one, a Sendrecv with each that has some, and an Allreduce of the
// energy.
//   step      one time step, of the slowest rank
//   compute   of it the forces, of the mean rank and of the slowest one
//   exchange  time in MPI, of the mean rank
// Forces are between particles of one rank, so the orbits depend on the number of ranks; that none
// is lost is checked. Any MPI: compile with its C++ wrapper, -std=c++17.
#include <cmath>
#include <random>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "particles: a cluster of particles in slabs of a box\n"
    "  --particles N   of all ranks (default 16000)\n"
    "  --steps N       of one batch (default 50)\n"
    "  --batches N     (default 3)\n"
    "  --json          one JSON object a line\n";

struct Particle {
  double x[2], v[2];
  double number;
};

constexpr int cells = 64;  // along each side of the box: nobody is felt further than one
constexpr double step_length = 0.004;

class Slab {
 public:
  Slab(int rank, int ranks, long particles) : rank_(rank), ranks_(ranks), all_(particles) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> near(0, 0.15), speed(0, 0.3);
    for (long i = 0; i < particles; i++) {
      Particle one{{0.42 + near(random), 0.5 + near(random)},
                   {speed(random), speed(random)},
                   static_cast<double>(i)};
      for (double& x : one.x) x -= std::floor(x);
      if (owner(one) == rank) own_.push_back(one);
    }
  }

  // Seconds of computation.
  double move() {
    const double begin = MPI_Wtime();
    std::vector<std::vector<const Particle*>> in(cells * cells);
    for (const Particle& one : own_) in[cell(one.x[0]) * cells + cell(one.x[1])].push_back(&one);
    std::vector<Particle> moved = own_;
    energy_ = 0;
    for (Particle& one : moved) {
      double force[2] = {0.42 - one.x[0], 0.5 - one.x[1]};  // what holds the cluster together
      for (std::size_t dx = cells - 1; dx <= cells + 1; dx++)
        for (std::size_t dy = cells - 1; dy <= cells + 1; dy++)
          for (const Particle* other :
               in[(cell(one.x[0]) + dx) % cells * cells + (cell(one.x[1]) + dy) % cells])
            push(one, *other, force);
      for (int d = 0; d < 2; d++) {
        one.v[d] += step_length * force[d];
        one.x[d] += step_length * one.v[d];
        one.x[d] -= std::floor(one.x[d]);
        energy_ += one.v[d] * one.v[d] / 2;
      }
    }
    own_ = std::move(moved);
    return MPI_Wtime() - begin;
  }

  void exchange() {
    std::vector<std::vector<Particle>> leaving(static_cast<std::size_t>(ranks_));
    std::vector<Particle> staying;
    for (const Particle& one : own_)
      (owner(one) == rank_ ? staying : leaving[static_cast<std::size_t>(owner(one))])
          .push_back(one);
    std::vector<int> mine, all(static_cast<std::size_t>(ranks_ * ranks_));
    for (const auto& each : leaving) mine.push_back(static_cast<int>(each.size()));
    MPI_Allgather(mine.data(), ranks_, MPI_INT, all.data(), ranks_, MPI_INT, MPI_COMM_WORLD);
    for (int distance = 1; distance < ranks_; distance++) {
      const int to = (rank_ + distance) % ranks_, from = (rank_ + ranks_ - distance) % ranks_;
      const auto& out = leaving[static_cast<std::size_t>(to)];
      std::vector<Particle> in(
          static_cast<std::size_t>(all[static_cast<std::size_t>(from * ranks_ + rank_)]));
      MPI_Sendrecv(out.data(), bytes(out), MPI_BYTE, to, 0, in.data(), bytes(in), MPI_BYTE, from, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      staying.insert(staying.end(), in.begin(), in.end());
    }
    own_ = std::move(staying);
    MPI_Allreduce(MPI_IN_PLACE, &energy_, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!std::isfinite(energy_)) bench::measured_wrong("particles: they fly apart");
  }

  void check() const {
    double sum[2] = {static_cast<double>(own_.size()), 0};
    for (const Particle& one : own_) sum[1] += one.number;
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const auto n = static_cast<double>(all_);
    if (sum[0] != n || sum[1] != n * (n - 1) / 2) bench::measured_wrong("particles: some are lost");
  }

 private:
  static std::size_t cell(double x) {
    return std::min<std::size_t>(cells - 1, static_cast<std::size_t>(x * cells));
  }
  static int bytes(const std::vector<Particle>& particles) {
    return static_cast<int>(particles.size() * sizeof(Particle));
  }
  int owner(const Particle& one) const {
    return std::min(ranks_ - 1, static_cast<int>(one.x[0] * ranks_));
  }
  // Softly, and none by itself, whose distance is none.
  static void push(const Particle& one, const Particle& other, double (&force)[2]) {
    const double dx = one.x[0] - other.x[0], dy = one.x[1] - other.x[1];
    const double square = dx * dx + dy * dy + 1e-4, strength = 1e-7 / (square * std::sqrt(square));
    force[0] += strength * dx;
    force[1] += strength * dy;
  }

  const int rank_, ranks_;
  const long all_;
  std::vector<Particle> own_;
  double energy_ = 0;
};

void body(bench::Program& program) {
  const long particles = program.options.count("particles", 16000),
             steps = program.options.count("steps", 50);
  const long batches = program.options.count("batches", 3);
  program.options.finish();
  if (particles > 10'000'000) throw bench::UsageError("--particles: ten million at most");
  program.begin("particles", {{"particles", particles}});
  Slab slab(program.rank, program.ranks, particles);
  slab.move();
  slab.exchange();
  const char* const names[4] = {"step", "compute", "compute, slowest", "exchange"};
  std::vector<double> of[4];
  for (long batch = 0; batch < batches; batch++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double compute = 0;
    const double begin = MPI_Wtime();
    for (long i = 0; i < steps; i++) {
      compute += slab.move();
      slab.exchange();
    }
    const double whole = MPI_Wtime() - begin;
    double most[2] = {whole, compute}, sum[2] = {compute, whole - compute};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double all[4] = {most[0], sum[0] / program.ranks, most[1], sum[1] / program.ranks};
    for (int i = 0; i < 4; i++) of[i].push_back(all[i] * 1e6 / static_cast<double>(steps));
  }
  slab.check();
  for (int i = 0; i < 4; i++) program.report.row(names[i], {}, "us", bench::distribution_of(of[i]));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
