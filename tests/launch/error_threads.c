/* A receive fails while another thread of its rank waits in another receive. */
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static void* wait_for_ever(void* unused) {
  int word;
  usleep(100000); /* the other one waits first */
  MPI_Recv(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}

int main(int argc, char** argv) {
  int provided, rank, words[2] = {0, 0};
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    MPI_Recv(words, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* too short */
    pthread_join(thread, NULL);
  } else {
    usleep(300000);
    MPI_Send(words, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
