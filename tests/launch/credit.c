/* Rank 0 prints what a rank may have under way to one other, and in all, in bytes. */
#include <mpi.h>
#include <stdio.h>

static unsigned long long bytes(const char* name) {
  int index, count, provided;
  MPI_T_cvar_handle handle;
  unsigned long long value = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return value;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%llu %llu\n", bytes("MEANTIME_EAGER_PAIR"), bytes("MEANTIME_EAGER_RANK"));
  MPI_Finalize();
  return 0;
}
