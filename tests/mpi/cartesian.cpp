// Cartesian topologies: create, sub, shift, rank, coords, dims; halo exchange over shifts.
#include "check.h"

using namespace check;

static void grid(std::vector<int> dims, std::vector<int> periods, int reorder) {
  const int n = static_cast<int>(dims.size());
  int cells = 1;
  for (int d : dims) cells *= d;
  if (cells > size) return;
  MPI_Comm cart;
  MUST(MPI_Cart_create(MPI_COMM_WORLD, n, dims.data(), periods.data(), reorder, &cart));
  int status = -1;
  if (cart == MPI_COMM_NULL) {
    CHECK(reorder || rank >= cells);
    return;
  }
  MUST(MPI_Topo_test(cart, &status));
  CHECK(status == MPI_CART);
  int me, members, got = -1;
  MUST(MPI_Comm_rank(cart, &me));
  MUST(MPI_Comm_size(cart, &members));
  CHECK(members == cells);
  MUST(MPI_Cartdim_get(cart, &got));
  CHECK(got == n);
  std::vector<int> d(n), p(n), c(n), coords(n);
  MUST(MPI_Cart_get(cart, n, d.data(), p.data(), c.data()));
  CHECK(d == dims);
  for (int i = 0; i < n; ++i) CHECK(!p[i] == !periods[i]);
  MUST(MPI_Cart_coords(cart, me, n, coords.data()));
  CHECK(coords == c);
  int row_major = 0, back = -1;
  for (int i = 0; i < n; ++i) row_major = row_major * dims[i] + coords[i];
  CHECK(row_major == me);
  MUST(MPI_Cart_rank(cart, coords.data(), &back));
  CHECK(back == me);
  for (int i = 0; i < n; ++i) {
    for (int step : {1, -1, 2}) {
      int source = -5, destination = -5;
      MUST(MPI_Cart_shift(cart, i, step, &source, &destination));
      for (int sign : {1, -1}) {
        auto there = coords;
        there[i] += sign * step;
        int expected = MPI_PROC_NULL;
        if (periods[i] || (there[i] >= 0 && there[i] < dims[i])) {
          there[i] = ((there[i] % dims[i]) + dims[i]) % dims[i];
          expected = 0;
          for (int k = 0; k < n; ++k) expected = expected * dims[k] + there[k];
        }
        CHECK((sign > 0 ? destination : source) == expected, "dimension %d step %d", i, step);
      }
      int out = me * 10 + i, in = -1;
      MUST(MPI_Sendrecv(&out, 1, MPI_INT, destination, 1, &in, 1, MPI_INT, source, 1, cart,
                        MPI_STATUS_IGNORE));
      CHECK(in == (source == MPI_PROC_NULL ? -1 : source * 10 + i));
    }
    std::vector<int> keep(n, 0);
    keep[i] = 1;
    MPI_Comm line;
    MUST(MPI_Cart_sub(cart, keep.data(), &line));
    int place, length, one = 1, sum = 0;
    MUST(MPI_Comm_rank(line, &place));
    MUST(MPI_Comm_size(line, &length));
    CHECK(place == coords[i] && length == dims[i]);
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, line));
    CHECK(sum == length);
    MUST(MPI_Comm_free(&line));
  }
  MPI_Comm copy;
  MUST(MPI_Comm_dup(cart, &copy));  // the topology is copied too
  MUST(MPI_Topo_test(copy, &status));
  CHECK(status == MPI_CART);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&cart));
}

int main(int argc, char** argv) {
  start(argc, argv);
  int status = -1;
  MUST(MPI_Topo_test(MPI_COMM_WORLD, &status));
  CHECK(status == MPI_UNDEFINED);
  for (int n = 1; n <= 3; ++n) {
    std::vector<int> dims(n, 0);
    MUST(MPI_Dims_create(size, n, dims.data()));
    int cells = 1;
    for (int i = 0; i < n; ++i) {
      cells *= dims[i];
      CHECK(i == 0 || dims[i] <= dims[i - 1], "dims do not fall");
    }
    CHECK(cells == size);
    for (int pattern = 0; pattern < 1 << n; ++pattern) {
      std::vector<int> periods(n);
      for (int i = 0; i < n; ++i) periods[i] = pattern >> i & 1;
      grid(dims, periods, pattern & 1);
    }
  }
  grid({size > 1 ? size - 1 : 1}, {1}, 0);  // one rank is left over
  grid({2, 1, 2}, {1, 1, 0}, 0);
  int dims12[] = {0, 0};
  MUST(MPI_Dims_create(12, 2, dims12));
  CHECK(dims12[0] == 4 && dims12[1] == 3);
  int fixed[] = {0, 2, 0};
  MUST(MPI_Dims_create(24, 3, fixed));
  CHECK(fixed[0] == 4 && fixed[1] == 2 && fixed[2] == 3);
  return finish();
}
