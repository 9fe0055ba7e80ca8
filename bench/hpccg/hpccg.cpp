// meantime-hpccg: conjugate gradients in the manner of Mantevo's HPCCG, which reports rank 0's
// times and MFLOP/s of its three parts (the paper on MPI virtualization, Table 2). Each part is
// timed by the wall's clock (MPI_Wtime) and by the rank's (MPIX_Rtime) in the same run: with
// several ranks a core the first one counts what others computed meanwhile.
//   ddot       a dot product, with its MPI_Allreduce
//   waxpby     a sum of two vectors
//   sparsemv   the matrix by a vector; the exchange of planes before it is in `total` alone
// Each rank has nx x ny x nz points, stacked in z; a row has 27 on its diagonal and -1 at each of
// its neighbours. The solution is all ones, and is checked. Any MPI: compile with its C++ wrapper,
// -std=c++17; without meantime.h both clocks are the wall's.
#if __has_include(<meantime.h>)
#include <meantime.h>
#else
#define MPIX_Rtime MPI_Wtime
#endif

#include <cmath>
#include <cstdint>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "meantime-hpccg: conjugate gradients, timed by MPI_Wtime and by MPIX_Rtime\n"
    "taskset -c 0 mpiexec --as threads -n 4 meantime-hpccg\n"
    "  --size N            points of a rank in x, y and z (default 24)\n"
    "  --iterations N      (default 150)\n"
    "  --json              one JSON object a line\n";

using Vector = std::vector<double>;

enum Part { total, ddot, waxpby, sparsemv, parts };
const char* const names[parts] = {"total", "ddot", "waxpby", "sparsemv"};

struct Times {
  double wall = 0, rank = 0, operations = 0;
};

class Solver {
 public:
  Solver(long size, int rank, int ranks) : size_(size), plane_(size * size), mine_(plane_ * size) {
    below_ = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    above_ = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    for (long z = 0; z < size; z++)
      for (long y = 0; y < size; y++)
        for (long x = 0; x < size; x++) add_row(x, y, z);
    solution_.assign(static_cast<std::size_t>(mine_), 0);
    residual_ = right_side_;
    // My points, then the plane below and the plane above.
    direction_.assign(static_cast<std::size_t>(mine_ + 2 * plane_), 0);
    product_ = solution_;
  }

  void solve(long iterations) {
    timed(total, [&] {
      double rho = dot(residual_, residual_), before = rho;
      for (long iteration = 0; iteration < iterations && rho > 0; iteration++) {
        add(direction_, residual_, iteration == 0 ? 0 : rho / before);
        exchange();
        multiply();
        const double alpha = rho / dot(direction_, product_);
        add_scaled(solution_, alpha, direction_);
        add_scaled(residual_, -alpha, product_);
        before = rho;
        rho = dot(residual_, residual_);
      }
    });
    for (int part = ddot; part < parts; part++) times_[total].operations += times_[part].operations;
  }

  double largest_error() const {
    double mine = 0, all = 0;
    for (double value : solution_) mine = std::fmax(mine, std::fabs(value - 1));
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
  }
  const Times& times(int part) const { return times_[part]; }

 private:
  void add_row(long x, long y, long z) {
    double sum = 0;
    for (long dz = -1; dz <= 1; dz++)
      for (long dy = -1; dy <= 1; dy++)
        for (long dx = -1; dx <= 1; dx++) {
          const long in_plane = (y + dy) * size_ + x + dx;
          if (x + dx < 0 || x + dx == size_ || y + dy < 0 || y + dy == size_) continue;
          if (z + dz < 0 ? below_ == MPI_PROC_NULL : z + dz == size_ && above_ == MPI_PROC_NULL)
            continue;
          const long column = z + dz < 0        ? mine_ + in_plane
                              : z + dz == size_ ? mine_ + plane_ + in_plane
                                                : (z + dz) * plane_ + in_plane;
          const double value = dx || dy || dz ? -1 : 27;
          column_.push_back(static_cast<std::int32_t>(column));
          value_.push_back(value);
          sum += value;
        }
    row_end_.push_back(column_.size());
    right_side_.push_back(sum);  // for a solution of ones
  }

  template <class Work>
  void timed(Part part, Work&& work) {
    const double wall = MPI_Wtime(), rank = MPIX_Rtime();
    work();
    times_[part].rank += MPIX_Rtime() - rank;
    times_[part].wall += MPI_Wtime() - wall;
  }

  double dot(const Vector& a, const Vector& b) {
    double all = 0;
    timed(ddot, [&] {
      double mine = 0;
      for (std::size_t i = 0; i < right_side_.size(); i++) mine += a[i] * b[i];
      MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    });
    times_[ddot].operations += 2 * static_cast<double>(mine_);
    return all;
  }

  // to = from + keep to
  void add(Vector& to, const Vector& from, double keep) {
    timed(waxpby, [&] {
      for (std::size_t i = 0; i < right_side_.size(); i++) to[i] = from[i] + keep * to[i];
    });
    times_[waxpby].operations += 2 * static_cast<double>(mine_);
  }
  // to += factor from
  void add_scaled(Vector& to, double factor, const Vector& from) {
    timed(waxpby, [&] {
      for (std::size_t i = 0; i < right_side_.size(); i++) to[i] += factor * from[i];
    });
    times_[waxpby].operations += 2 * static_cast<double>(mine_);
  }

  void multiply() {
    timed(sparsemv, [&] {
      std::size_t at = 0;
      for (std::size_t row = 0; row < right_side_.size(); row++) {
        double sum = 0;
        for (; at < row_end_[row]; at++)
          sum += value_[at] * direction_[static_cast<std::size_t>(column_[at])];
        product_[row] = sum;
      }
    });
    times_[sparsemv].operations += 2 * static_cast<double>(column_.size());
  }

  void exchange() {
    const int count = static_cast<int>(plane_);
    double* const halo = direction_.data() + mine_;
    MPI_Request requests[2];
    MPI_Irecv(halo, count, MPI_DOUBLE, below_, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(halo + count, count, MPI_DOUBLE, above_, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(direction_.data(), count, MPI_DOUBLE, below_, 1, MPI_COMM_WORLD);
    MPI_Send(halo - count, count, MPI_DOUBLE, above_, 1, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }

  long size_, plane_, mine_;
  int below_, above_;
  std::vector<std::int32_t> column_;
  std::vector<std::size_t> row_end_;
  Vector value_, right_side_, solution_, residual_, direction_, product_;
  Times times_[parts];
};

void body(bench::Program& program) {
  const long size = program.options.number("size", 24);
  const long iterations = program.options.number("iterations", 150);
  program.options.finish();
  if (size < 1 || size > 400 || iterations < 1)
    throw bench::UsageError("--size is 1 to 400, --iterations at least 1");
  program.begin("hpccg", {{"size", size}, {"iterations", iterations}});
  Solver solver(size, program.rank, program.ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  solver.solve(iterations);
  if (iterations >= 100 && solver.largest_error() > 1e-6)
    bench::measured_wrong("meantime-hpccg: the solution is wrong");
  for (const bool by_rank : {false, true})
    for (int part = 0; part < parts; part++) {
      const Times& times = solver.times(part);
      const double seconds = by_rank ? times.rank : times.wall;
      program.report.row(names[part], {{"clock", by_rank ? "MPIX_Rtime" : "MPI_Wtime"}}, "s",
                         bench::distribution_of({seconds}),
                         {{"mflops", times.operations / seconds * 1e-6}});
    }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
