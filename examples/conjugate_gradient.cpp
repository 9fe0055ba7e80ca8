// A sparse system solved by conjugate gradients on a 3-D grid, in the manner of Mantevo's HPCCG.
//
// Every rank has nx x ny x nz grid points, the ranks' blocks stacked in z. A point's row couples it
// with its 26 neighbours: 27 on the diagonal, -1 beside it. One plane of values goes to each
// neighbour before every product (Irecv, Send, Wait), and every dot product is an Allreduce.
// The right-hand side is made from a known solution, so the result is checked: the residual is
// computed anew from the matrix, the error against the known solution, and a checksum of the
// solution rounded to six decimals, the same with every MPI.
//
//   mpiexec -n 64 ./conjugate_gradient [nx ny nz [iterations]] [--account] [--progress]
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "account.h"

namespace {

using Vector = std::vector<double>;

struct Settings {
  int nx = 16, ny = 16, nz = 16, iterations = 150;
  bool account = false, progress = false;
};

Settings read_settings(int argc, char** argv) {
  Settings settings;
  std::vector<int> numbers;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--account")
      settings.account = true;
    else if (word == "--progress")
      settings.progress = true;
    else if (std::atoi(argv[i]) > 0)
      numbers.push_back(std::atoi(argv[i]));
    else
      throw std::invalid_argument(word);
  }
  if (numbers.size() != 0 && numbers.size() != 3 && numbers.size() != 4)
    throw std::invalid_argument("how many numbers?");
  if (numbers.size() >= 3) {
    settings.nx = numbers[0];
    settings.ny = numbers[1];
    settings.nz = numbers[2];
  }
  if (numbers.size() == 4) settings.iterations = numbers[3];
  return settings;
}

// The ranks' blocks. Local values: mine first, then the plane below, then the plane above.
struct Grid {
  int rank, ranks;
  long nx, ny, nz;
  int below, above;  // neighbours, or MPI_PROC_NULL

  Grid(const Settings& settings) : nx(settings.nx), ny(settings.ny), nz(settings.nz) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    below = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  }
  long plane() const { return nx * ny; }
  long mine() const { return plane() * nz; }
  long with_halo() const { return mine() + 2 * plane(); }
  long global(long x, long y, long z) const { return ((rank * nz + z) * ny + y) * nx + x; }
  // z from −1 (the plane below) to nz (the plane above)
  long local(long x, long y, long z) const {
    const long in_plane = y * nx + x;
    if (z < 0) return mine() + in_plane;
    if (z == nz) return mine() + plane() + in_plane;
    return z * plane() + in_plane;
  }
  bool exists(long x, long y, long z) const {
    return x >= 0 && x < nx && y >= 0 && y < ny && rank * nz + z >= 0 && rank * nz + z < ranks * nz;
  }
};

double known_solution(long global) {
  return 1.0 + static_cast<double>(global % 7);
}

// Rows in compressed form; columns are local numbers.
struct Matrix {
  std::vector<std::int64_t> row_start{0};
  std::vector<std::int32_t> column;
  Vector value;
};

void build(const Grid& grid, Matrix& matrix, Vector& right_side) {
  matrix.column.reserve(static_cast<std::size_t>(27 * grid.mine()));
  matrix.value.reserve(static_cast<std::size_t>(27 * grid.mine()));
  for (long z = 0; z < grid.nz; z++)
    for (long y = 0; y < grid.ny; y++)
      for (long x = 0; x < grid.nx; x++) {
        double sum = 0;
        for (long dz = -1; dz <= 1; dz++)
          for (long dy = -1; dy <= 1; dy++)
            for (long dx = -1; dx <= 1; dx++) {
              if (!grid.exists(x + dx, y + dy, z + dz)) continue;
              const double value = dx || dy || dz ? -1 : 27;
              matrix.column.push_back(
                  static_cast<std::int32_t>(grid.local(x + dx, y + dy, z + dz)));
              matrix.value.push_back(value);
              sum += value * known_solution(grid.global(x + dx, y + dy, z + dz));
            }
        matrix.row_start.push_back(static_cast<std::int64_t>(matrix.column.size()));
        right_side.push_back(sum);
      }
}

class Solver {
 public:
  Solver(const Grid& grid, const Settings& settings) : grid_(grid), settings_(settings) {
    build(grid_, matrix_, right_side_);
    solution_.assign(static_cast<std::size_t>(grid_.with_halo()), 0);
    direction_ = solution_;
    residual_ = right_side_;
    product_.resize(right_side_.size());
  }

  // Returns the norm of the residual that the iteration itself believes in.
  double solve(struct account& account) {
    account_ = &account;
    double rho = dot(residual_, residual_);
    for (int iteration = 1; iteration <= settings_.iterations && rho > 0; iteration++) {
      if (iteration == 1) compute([&] { combine(direction_, 1, residual_, 0); });
      exchange(direction_);
      compute([&] { multiply(direction_); });
      const double alpha = rho / dot(direction_, product_);
      compute([&] {
        combine(solution_, alpha, direction_, 1);
        combine(residual_, -alpha, product_, 1);
      });
      const double before = rho;
      rho = dot(residual_, residual_);
      compute([&] { combine(direction_, 1, residual_, rho / before); });
      if (settings_.progress && grid_.rank == 0 && iteration % 5 == 0) {
        std::printf("iteration %d of %d\n", iteration, settings_.iterations);
        std::fflush(stdout);
      }
    }
    return std::sqrt(rho);
  }

  // ‖b − A x‖ / ‖b‖ from the matrix itself.
  double true_residual() {
    exchange(solution_);
    multiply(solution_);
    double mine[2] = {0, 0}, all[2] = {0, 0};
    for (std::size_t i = 0; i < right_side_.size(); i++) {
      mine[0] += (right_side_[i] - product_[i]) * (right_side_[i] - product_[i]);
      mine[1] += right_side_[i] * right_side_[i];
    }
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return std::sqrt(all[0] / all[1]);
  }

  double largest_error() const {
    double mine = 0, all = 0;
    const long first = grid_.rank * grid_.mine();
    for (long i = 0; i < grid_.mine(); i++)
      mine = std::fmax(
          mine, std::fabs(solution_[static_cast<std::size_t>(i)] - known_solution(first + i)));
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
  }

  std::uint64_t checksum() const {
    std::uint64_t mine = 0, all = 0;
    const long first = grid_.rank * grid_.mine();
    for (long i = 0; i < grid_.mine(); i++) {
      const long long rounded = std::llround(solution_[static_cast<std::size_t>(i)] * 1e6);
      mine += static_cast<std::uint64_t>(rounded) * static_cast<std::uint64_t>(2 * (first + i) + 1);
    }
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
  }

 private:
  template <class Section>
  void compute(Section section) {
    account_compute_begin(account_);
    section();
    account_compute_end(account_);
  }

  // My first plane goes below, my last plane above; theirs come into the halo.
  void exchange(Vector& values) {
    const int count = static_cast<int>(grid_.plane());
    double* halo = values.data() + grid_.mine();
    double* last_plane = halo - grid_.plane();
    MPI_Request requests[2];
    MPI_Irecv(halo, count, MPI_DOUBLE, grid_.below, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(halo + count, count, MPI_DOUBLE, grid_.above, 99, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(values.data(), count, MPI_DOUBLE, grid_.below, 99, MPI_COMM_WORLD);
    MPI_Send(last_plane, count, MPI_DOUBLE, grid_.above, 99, MPI_COMM_WORLD);
    for (MPI_Request& request : requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  // product = A values
  void multiply(const Vector& values) {
    for (std::size_t row = 0; row < right_side_.size(); row++) {
      double sum = 0;
      for (std::int64_t i = matrix_.row_start[row]; i < matrix_.row_start[row + 1]; i++)
        sum += matrix_.value[static_cast<std::size_t>(i)] *
               values[static_cast<std::size_t>(matrix_.column[static_cast<std::size_t>(i)])];
      product_[row] = sum;
    }
  }

  // target = factor · other + keep · target, on my own points
  void combine(Vector& target, double factor, const Vector& other, double keep) const {
    for (std::size_t i = 0; i < right_side_.size(); i++)
      target[i] = factor * other[i] + keep * target[i];
  }

  double dot(const Vector& a, const Vector& b) {
    double mine = 0, all = 0;
    compute([&] {
      for (std::size_t i = 0; i < right_side_.size(); i++) mine += a[i] * b[i];
    });
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

  Grid grid_;
  Settings settings_;
  Matrix matrix_;
  Vector right_side_, solution_, direction_, residual_, product_;
  struct account* account_ = nullptr;
};

int run(const Settings& settings) {
  const Grid grid(settings);
  Solver solver(grid, settings);
  struct account account;
  MPI_Barrier(MPI_COMM_WORLD);
  account_start(&account);
  const double norm = solver.solve(account);
  const double seconds = MPI_Wtime() - account.wall_start;
  if (settings.account) account_print(&account, MPI_COMM_WORLD);

  const double residual = solver.true_residual(), error = solver.largest_error();
  const std::uint64_t sum = solver.checksum();
  // Fewer iterations than convergence takes are the user's choice, not a wrong result.
  const bool right = residual < 1e-9 || settings.iterations < 100;
  if (grid.rank == 0) {
    const double points = static_cast<double>(grid.mine()) * grid.ranks;
    std::printf("%ld x %ld x %ld points, %d ranks, %d iterations in %.3f s, %.0f MFLOP/s\n",
                grid.nx, grid.ny, grid.nz * grid.ranks, grid.ranks, settings.iterations, seconds,
                points * (27 * 2 + 10) * settings.iterations / seconds * 1e-6);
    std::printf("residual %.2e (iterated %.2e), largest error %.2e: %s\n", residual, norm, error,
                right ? "right" : "WRONG");
    std::printf("checksum: %016llx\n", static_cast<unsigned long long>(sum));
  }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 2, rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    status = run(read_settings(argc, argv));
  } catch (const std::invalid_argument& mistake) {
    if (rank == 0)
      std::fprintf(stderr,
                   "conjugate_gradient: %s\n"
                   "usage: conjugate_gradient [nx ny nz [iterations]] [--account] [--progress]\n",
                   mistake.what());
  }
  MPI_Finalize();
  return status;
}
