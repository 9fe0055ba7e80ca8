// An ordinary program of a user, to be built with sanitizers or run under valgrind: all protocols,
// collectives, derived types, non-blocking calls, a second communicator, threads, everything freed.
#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

// By each of two threads: words on the communicator that they share, then blocks fresh from the
// heap on its own one: short ones, and long ones that another process puts in place.
static long pass_around(MPI_Comm own, int tag) {
  int rank = 0, size = 0;
  long errors = 0;
  MPI_Comm_rank(own, &rank);
  MPI_Comm_size(own, &size);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int turn = 0; turn < 100; ++turn) {
    int word = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, tag, &word, 1, MPI_INT, last, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    errors += word != last;
  }
  for (int turn = 0; turn < 20; ++turn) {
    const int count = turn % 2 != 0 ? 100 : 200000, one = 1;
    std::vector<int> out(count), in(count);
    std::iota(out.begin(), out.end(), rank + turn);
    MPI_Sendrecv(out.data(), count, MPI_INT, next, 3, in.data(), count, MPI_INT, last, 3, own,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) errors += in[i] != last + turn + i;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own);
    errors += sum != size;
  }
  return errors;
}

int main(int argc, char** argv) {
  int provided = 0, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  long errors = 0;
  for (int count : {0, 1, 100, 5000, 100000, 1000000}) {
    std::vector<int> out(count), in(count);
    std::iota(out.begin(), out.end(), rank);
    MPI_Request requests[2];
    MPI_Irecv(in.data(), count, MPI_INT, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), count, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; ++i) errors += in[i] != last + i;
    std::vector<int> sum(count);
    MPI_Allreduce(out.data(), sum.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) errors += sum[i] != size * i + size * (size - 1) / 2;
    MPI_Bcast(out.data(), count, MPI_INT, size - 1, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) errors += out[i] != size - 1 + i;
  }
  MPI_Datatype column;
  MPI_Type_vector(50, 1, 50, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  std::vector<double> matrix(50 * 50, rank);
  MPI_Sendrecv(matrix.data(), 1, column, next, 2, matrix.data() + 7, 1, column, last, 2,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 50; ++i) errors += matrix[i * 50 + 7] != last;
  MPI_Type_free(&column);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Barrier(half);
  MPI_Request collective;
  std::vector<int> all(static_cast<std::size_t>(size));
  MPI_Iallgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD, &collective);
  MPI_Wait(&collective, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; ++r) errors += all[static_cast<std::size_t>(r)] != r;
  MPI_Comm_free(&half);
  MPI_Comm own[2];
  for (MPI_Comm& comm : own) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  long others_errors = 0;
  std::thread other([&] { others_errors = pass_around(own[1], 10); });
  errors += pass_around(own[0], 11);
  other.join();
  errors += others_errors;
  for (MPI_Comm& comm : own) MPI_Comm_free(&comm);
  MPI_Finalize();
  if (rank == 0 && errors == 0) std::printf(" No Errors\n");
  return errors != 0;
}
