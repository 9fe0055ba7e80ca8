/* Heat in a square plate: Jacobi iteration on a 2-D grid, halos by blocking MPI_Sendrecv.
 *
 * The plate is cut in a 2-D Cartesian grid of ranks. One edge is hot, the others are cold. Every
 * tenth iteration the largest change is found by MPI_Allreduce. Each point is computed from the
 * same values in the same order whatever the number of ranks, so the checksum (over the bits of
 * all points) depends on the size and the iterations only.
 *
 *   mpiexec -n 64 ./stencil2d [--size N] [--iterations N] [--account] [--progress] */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"

struct plate {
  int rows, columns;           /* mine, without the halo */
  int first_row, first_column; /* where mine begin in the whole plate */
  double *now, *next;          /* (rows + 2) x (columns + 2) */
};

static size_t at(const struct plate* plate, int row, int column) {
  return (size_t)row * (size_t)(plate->columns + 2) + (size_t)column;
}

/* Part `which` of `parts` of `whole` points: sizes differ by one at most. */
static void my_part(int whole, int parts, int which, int* first, int* count) {
  *first = (int)((long)whole * which / parts);
  *count = (int)((long)whole * (which + 1) / parts) - *first;
}

static struct plate make_plate(int size, const int dims[2], const int coordinates[2]) {
  struct plate plate;
  my_part(size, dims[0], coordinates[0], &plate.first_row, &plate.rows);
  my_part(size, dims[1], coordinates[1], &plate.first_column, &plate.columns);
  const size_t points = at(&plate, plate.rows + 2, 0);
  plate.now = calloc(points, sizeof(double));
  plate.next = calloc(points, sizeof(double));
  if (!plate.now || !plate.next) {
    fprintf(stderr, "stencil2d: out of memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (coordinates[0] == 0) /* the hot edge is the halo above the first row */
    for (int column = 0; column < plate.columns + 2; column++)
      plate.now[at(&plate, 0, column)] = plate.next[at(&plate, 0, column)] = 100;
  return plate;
}

static void exchange_halos(struct plate* plate, MPI_Datatype column, MPI_Comm grid) {
  int up, down, left, right;
  double* now = plate->now;
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  MPI_Sendrecv(now + at(plate, 1, 1), plate->columns, MPI_DOUBLE, up, 0,
               now + at(plate, plate->rows + 1, 1), plate->columns, MPI_DOUBLE, down, 0, grid,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(now + at(plate, plate->rows, 1), plate->columns, MPI_DOUBLE, down, 1,
               now + at(plate, 0, 1), plate->columns, MPI_DOUBLE, up, 1, grid, MPI_STATUS_IGNORE);
  MPI_Sendrecv(now + at(plate, 1, 1), 1, column, left, 2, now + at(plate, 1, plate->columns + 1), 1,
               column, right, 2, grid, MPI_STATUS_IGNORE);
  MPI_Sendrecv(now + at(plate, 1, plate->columns), 1, column, right, 3, now + at(plate, 1, 0), 1,
               column, left, 3, grid, MPI_STATUS_IGNORE);
}

/* One sweep; returns the largest change of a point. */
static double relax(struct plate* plate) {
  double largest = 0;
  for (int row = 1; row <= plate->rows; row++)
    for (int column = 1; column <= plate->columns; column++) {
      const double* centre = plate->now + at(plate, row, column);
      const double *above = centre - (plate->columns + 2), *below = centre + (plate->columns + 2);
      const double value = 0.25 * ((above[0] + below[0]) + (centre[-1] + centre[1]));
      largest = fmax(largest, fabs(value - centre[0]));
      plate->next[at(plate, row, column)] = value;
    }
  double* swap = plate->now;
  plate->now = plate->next;
  plate->next = swap;
  return largest;
}

/* The sum, modulo 2^64, of every point's bits times an odd weight: the order does not matter. */
static uint64_t checksum(const struct plate* plate, int size, MPI_Comm grid) {
  uint64_t mine = 0, all = 0;
  for (int row = 1; row <= plate->rows; row++)
    for (int column = 1; column <= plate->columns; column++) {
      uint64_t bits, place = (uint64_t)(plate->first_row + row - 1) * (uint64_t)size +
                             (uint64_t)(plate->first_column + column - 1);
      memcpy(&bits, plate->now + at(plate, row, column), sizeof bits);
      mine += bits * (2 * place + 1);
    }
  MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, grid);
  return all;
}

int main(int argc, char** argv) {
  int size = 1024, iterations = 300, want_account = 0, want_progress = 0;
  int rank, ranks, dims[2] = {0, 0}, periods[2] = {0, 0}, coordinates[2];
  struct account account;
  MPI_Comm grid;
  MPI_Datatype column;

  MPI_Init(&argc, &argv);
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--size") && i + 1 < argc) size = atoi(argv[++i]);
    if (!strcmp(argv[i], "--iterations") && i + 1 < argc) iterations = atoi(argv[++i]);
    if (!strcmp(argv[i], "--account")) want_account = 1;
    if (!strcmp(argv[i], "--progress")) want_progress = 1;
  }
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, coordinates);
  if (size < dims[0]) {
    if (rank == 0)
      fprintf(stderr, "stencil2d: --size is at least %d for %d ranks\n", dims[0], ranks);
    MPI_Finalize();
    return 2;
  }
  struct plate plate = make_plate(size, dims, coordinates);
  MPI_Type_vector(plate.rows, 1, plate.columns + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  MPI_Barrier(grid);
  account_start(&account);
  double change = 0;
  for (int iteration = 1; iteration <= iterations; iteration++) {
    exchange_halos(&plate, column, grid);
    account_compute_begin(&account);
    double mine = relax(&plate);
    account_compute_end(&account);
    if (iteration % 10 == 0 || iteration == iterations) {
      MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
      if (want_progress && rank == 0) {
        printf("iteration %d of %d\n", iteration, iterations);
        fflush(stdout);
      }
    }
  }
  if (want_account) account_print(&account, grid);

  const uint64_t sum = checksum(&plate, size, grid);
  if (rank == 0) {
    printf("%d x %d plate on %d x %d ranks, %d iterations, last change %.6e\n", size, size, dims[0],
           dims[1], iterations, change);
    printf("checksum: %016llx\n", (unsigned long long)sum);
  }
  free(plate.now);
  free(plate.next);
  MPI_Type_free(&column);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
