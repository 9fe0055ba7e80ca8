/* MILLISECONDS BYTES: ranks 0 and 1 send a large message to and fro, and rank 0 says in how many
   round trips out of 20 it was back sooner than the six steps of that much each that the test wire
   has for two messages: blocking, and not.
   MILLISECONDS BYTES away: rank 1 posts its receive and is away from MPI for so long, and rank 0
   says whether its send was over before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void pass(char* data, int bytes, int to_send, int peer, int blocking) {
  MPI_Request request;
  if (blocking && to_send) {
    MPI_Send(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  } else if (blocking) {
    MPI_Recv(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    if (to_send)
      MPI_Isend(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
    else
      MPI_Irecv(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void away(char* data, int bytes, int rank, double seconds) {
  MPI_Request request;
  double over, back;
  if (rank == 1) {
    MPI_Irecv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    usleep((useconds_t)(seconds * 1e6));
    back = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&back, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    over = MPI_Wtime();
    MPI_Recv(&back, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    puts(over < back ? "before" : "after");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double step = atof(argv[1]) * 1e-3;
  const int bytes = atoi(argv[2]);
  int rank, soon[2] = {0, 0};
  char* data = calloc(1, (size_t)bytes);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD); /* what is sent to a rank that has not begun goes through a pipe */
  if (argc > 3) {
    away(data, bytes, rank, step);
    free(data);
    return MPI_Finalize();
  }
  for (int turn = 0; turn < 40; turn++) {
    const double start = MPI_Wtime();
    if (rank < 2) {
      pass(data, bytes, rank == 0, 1 - rank, turn % 2);
      pass(data, bytes, rank == 1, 1 - rank, turn % 2);
    }
    soon[turn % 2] += MPI_Wtime() - start < 6 * step;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d %d\n", soon[0], soon[1]);
  free(data);
  MPI_Finalize();
  return 0;
}
