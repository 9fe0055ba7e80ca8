// Ideal magnetohydrodynamics in two dimensions, as small as it can be and be one: a blast in a
// magnetic field, by the finite volumes of Rusanov, on a torus. It stands for EulerMHD, with which
// the paper on collaborative polling measures (its Figures 7 and 8): each step a halo exchange by
// Irecv, Isend and Waitall while the inner cells are computed, then the outer ones, then one small
// Allreduce for the next step's length.
//
// Ranks do unequal work: where the gas is hot, an equation of state is solved by Newton's method in
// --work rounds more, and the blast is in the middle of one quarter. (--balanced: everywhere as
// many as it is on average.)
//   step      one time step, of the slowest rank
//   compute   of it the computation, of the mean rank and of the slowest one
//   waitall, allreduce   time in these, of the mean rank
// Mass, energy and the magnetic flux must be the same at the end, or the job ends.
// Any MPI: compile with its C++ wrapper, -std=c++17.
#include <array>
#include <cmath>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "mhd: a blast in a magnetic field, on a torus\n"
    "  --cells N     along each side of the whole (default 192)\n"
    "  --steps N     of one batch (default 20)\n"
    "  --batches N   (default 3)\n"
    "  --work N      Newton's rounds in a hot cell (default 100)\n"
    "  --balanced    as much in all cells\n"
    "  --json        one JSON object a line\n";

constexpr int fields = 7;  // density, momentum (x, y), energy, magnetic field (x, y), heat
constexpr double gamma_gas = 5.0 / 3;
using Cell = std::array<double, fields>;

double pressure(const Cell& u) {
  const double kinetic = (u[1] * u[1] + u[2] * u[2]) / (2 * u[0]);
  return (gamma_gas - 1) * (u[3] - kinetic - (u[4] * u[4] + u[5] * u[5]) / 2);
}

// The fastest wave, in a bound that holds in all directions.
double wave_speed(const Cell& u) {
  const double sound = gamma_gas * std::max(pressure(u), 1e-9) / u[0];
  const double field = (u[4] * u[4] + u[5] * u[5]) / u[0];
  return std::hypot(u[1], u[2]) / u[0] + std::sqrt(sound + field);
}

// What flows through a face across direction d (0: x, 1: y).
Cell flux(const Cell& u, int d) {
  const double v[2] = {u[1] / u[0], u[2] / u[0]}, b[2] = {u[4], u[5]};
  const double total = pressure(u) + (b[0] * b[0] + b[1] * b[1]) / 2;
  Cell f{u[0] * v[d],
         u[1] * v[d] - b[d] * b[0],
         u[2] * v[d] - b[d] * b[1],
         (u[3] + total) * v[d] - b[d] * (v[0] * b[0] + v[1] * b[1]),
         b[0] * v[d] - v[0] * b[d],
         b[1] * v[d] - v[1] * b[d],
         u[6] * v[d]};
  f[static_cast<std::size_t>(1 + d)] += total;
  return f;
}

Cell face(const Cell& left, const Cell& right, int d) {
  const double speed = std::max(wave_speed(left), wave_speed(right));
  const Cell a = flux(left, d), b = flux(right, d);
  Cell f;
  for (std::size_t i = 0; i < fields; i++)
    f[i] = (a[i] + b[i]) / 2 - speed * (right[i] - left[i]) / 2;
  return f;
}

// An equation of state without a closed solution: t + t^3 = p, for the temperature t.
double temperature(double p, long rounds) {
  double t = p;
  for (long i = 0; i < rounds; i++) t -= (t + t * t * t - p) / (1 + 3 * t * t);
  return t;
}

struct Times {
  double compute = 0, waitall = 0, allreduce = 0;
};

class Block {
 public:
  Block(int cells, long work, bool balanced) : cells_(cells), work_(work), balanced_(balanced) {
    int ranks = 0, periodic[2] = {1, 1};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dims_);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims_, periodic, 0, &torus_);
    int rank = 0, place[2] = {};
    MPI_Comm_rank(torus_, &rank);
    MPI_Cart_coords(torus_, rank, 2, place);
    for (int d = 0; d < 2; d++) {
      MPI_Cart_shift(torus_, d, 1, &neighbours_[2 * d], &neighbours_[2 * d + 1]);
      first_[d] = static_cast<int>(static_cast<long>(cells) * place[d] / dims_[d]);
      size_[d] = static_cast<int>(static_cast<long>(cells) * (place[d] + 1) / dims_[d]) - first_[d];
    }
    if (size_[0] < 3 || size_[1] < 3) throw bench::UsageError("--cells: too few for the ranks");
    now_.resize(static_cast<std::size_t>((size_[0] + 2) * (size_[1] + 2)));
    for (int x = 1; x <= size_[0]; x++)
      for (int y = 1; y <= size_[1]; y++) {
        const double dx = (first_[0] + x - 0.5) / cells - 0.25,
                     dy = (first_[1] + y - 0.5) / cells - 0.25;
        const double p = dx * dx + dy * dy < 0.01 ? 10 : 0.1;
        at(now_, x, y) = {1, 0, 0, p / (gamma_gas - 1) + 0.5, std::sqrt(0.5), std::sqrt(0.5), 0};
      }
    next_ = now_;
    for (int side = 0; side < 4; side++) {
      const auto length = static_cast<std::size_t>(size_[1 - side / 2]);
      out_[side].resize(length);
      in_[side].resize(length);
    }
  }
  ~Block() { MPI_Comm_free(&torus_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void step(Times& times) {
    MPI_Request requests[8];
    for (int side = 0; side < 4; side++)
      MPI_Irecv(in_[side].data(), bytes(in_[side]), MPI_BYTE, neighbours_[side], side ^ 1, torus_,
                &requests[side]);
    for (int side = 0; side < 4; side++) {
      for (int i = 0; i < edge(side); i++)
        out_[side][static_cast<std::size_t>(i)] = border(side, i, 1);
      MPI_Isend(out_[side].data(), bytes(out_[side]), MPI_BYTE, neighbours_[side], side, torus_,
                &requests[4 + side]);
    }
    const double begin = MPI_Wtime();
    fastest_ = 0;
    for (int x = 2; x < size_[0]; x++)
      for (int y = 2; y < size_[1]; y++) update(x, y);
    const double inner = MPI_Wtime();
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    const double waited = MPI_Wtime();
    for (int side = 0; side < 4; side++)
      for (int i = 0; i < edge(side); i++)
        border(side, i, 0) = in_[side][static_cast<std::size_t>(i)];
    for (int x = 1; x <= size_[0]; x++)
      for (int y = 1; y <= size_[1]; y += x == 1 || x == size_[0] ? 1 : size_[1] - 1) update(x, y);
    std::swap(now_, next_);
    const double outer = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &fastest_, 1, MPI_DOUBLE, MPI_MAX, torus_);
    length_ = 0.2 / (cells_ * fastest_);
    times.compute += inner - begin + (outer - waited);
    times.waitall += waited - inner;
    times.allreduce += MPI_Wtime() - outer;
  }

  // Of all ranks: what no step may change.
  std::array<double, 4> kept() {
    std::array<double, 4> sum{};
    for (int x = 1; x <= size_[0]; x++)
      for (int y = 1; y <= size_[1]; y++)
        for (std::size_t i = 0; i < 4; i++) sum[i] += at(now_, x, y)[i < 1 ? 0 : i + 2];
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), 4, MPI_DOUBLE, MPI_SUM, torus_);
    return sum;
  }

 private:
  using Field = std::vector<Cell>;
  Cell& at(Field& field, int x, int y) {
    return field[static_cast<std::size_t>(x * (size_[1] + 2) + y)];
  }
  static int bytes(const Field& cells) { return static_cast<int>(cells.size() * sizeof(Cell)); }
  int edge(int side) const { return size_[1 - side / 2]; }
  // The i-th cell of a side: the block's own (inside 1) or its neighbour's (0).
  Cell& border(int side, int i, int inside) {
    const int d = side / 2, depth = side % 2 == 0 ? inside : size_[d] + 1 - inside;
    return d == 0 ? at(now_, depth, i + 1) : at(now_, i + 1, depth);
  }

  void update(int x, int y) {
    const Cell& u = at(now_, x, y);
    const Cell west = face(at(now_, x - 1, y), u, 0), east = face(u, at(now_, x + 1, y), 0);
    const Cell south = face(at(now_, x, y - 1), u, 1), north = face(u, at(now_, x, y + 1), 1);
    Cell& to = at(next_, x, y);
    for (std::size_t i = 0; i < fields; i++)
      to[i] = u[i] + length_ * cells_ * (west[i] - east[i] + south[i] - north[i]);
    const double p = std::max(pressure(to), 1e-9);
    to[6] = to[0] * temperature(p, balanced_ ? work_ / 4 : is_hot(x, y) ? work_ : 1);
    fastest_ = std::max(fastest_, wave_speed(to));
  }
  // The quarter with the blast, so that ranks' shares stay what they are.
  bool is_hot(int x, int y) const {
    return first_[0] + x <= cells_ / 2 && first_[1] + y <= cells_ / 2;
  }

  const int cells_;
  const long work_;
  const bool balanced_;
  MPI_Comm torus_ = MPI_COMM_NULL;
  int dims_[2] = {}, neighbours_[4] = {}, first_[2] = {}, size_[2] = {};
  Field now_, next_, out_[4], in_[4];
  double fastest_ = 0, length_ = 0;
};

void body(bench::Program& program) {
  const long cells = program.options.count("cells", 192),
             steps = program.options.count("steps", 20);
  const long batches = program.options.count("batches", 3),
             work = program.options.count("work", 100);
  const bool balanced = program.options.flag("balanced");
  program.options.finish();
  if (cells > 1 << 14) throw bench::UsageError("--cells: 16384 at most");
  Block block(static_cast<int>(cells), work, balanced);
  program.begin("mhd", {{"cells", cells}, {"work", work}});
  const std::array<double, 4> before = block.kept();
  Times warm;
  for (int i = 0; i < 2; i++) block.step(warm);
  const char* const names[5] = {"step", "compute", "compute, slowest", "waitall", "allreduce"};
  std::vector<double> of[5];
  for (long batch = 0; batch < batches; batch++) {
    MPI_Barrier(MPI_COMM_WORLD);
    Times times;
    const double begin = MPI_Wtime();
    for (long i = 0; i < steps; i++) block.step(times);
    double most[2] = {MPI_Wtime() - begin, times.compute};
    double sum[3] = {times.compute, times.waitall, times.allreduce};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double all[5] = {most[0], sum[0] / program.ranks, most[1], sum[1] / program.ranks,
                           sum[2] / program.ranks};
    for (int i = 0; i < 5; i++) of[i].push_back(all[i] * 1e6 / static_cast<double>(steps));
  }
  const std::array<double, 4> after = block.kept();
  for (std::size_t i = 0; i < after.size(); i++)
    if (!(std::abs(after[i] - before[i]) <= 1e-9 * std::abs(before[i])))
      bench::measured_wrong("mhd: what no step may change is " + std::to_string(after[i]) +
                            ", was " + std::to_string(before[i]));
  for (int i = 0; i < 5; i++) program.report.row(names[i], {}, "us", bench::distribution_of(of[i]));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
