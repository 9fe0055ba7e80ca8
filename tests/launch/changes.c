/* Changes how its ranks wait while it runs, in every way that there is. With an argument: nothing
 * that is another way than it was started with (adaptive). */
#include <meantime.h>
#include <stdio.h>
#include <string.h>

static int enter(const MPIX_Energy_info* info, void* argument) {
  (void)info, (void)argument;
  return MPIX_ENERGY_DEFAULT;
}

static void write_variable(const char* name, unsigned long long value) {
  int index, count;
  MPI_T_cvar_handle handle;
  MPI_T_cvar_get_index(name, &index);
  MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
  MPI_T_cvar_write(handle, &value);
  MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char** argv) {
  int rank, provided;
  MPI_Comm comm, twin;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1) {
    MPIX_Setting_set("MEANTIME_WAIT", "adaptive");
    MPIX_Setting_set("MEANTIME_TRIES_POLL", "");
  } else {
    if (rank == 1)
      for (int i = 0; i < 3; ++i) MPIX_Setting_set("MEANTIME_WAIT", "event");
    if (rank != 0) write_variable("MEANTIME_TRIES_POLL", 12);
    MPI_Info_create(&info);
    MPI_Info_set(info, "meantime_wait", "yield");
    MPI_Info_set(info, "meantime_tries_yield", "nonsense");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    MPI_Comm_dup(comm, &twin);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&comm);
    if (rank == 2) {
      MPIX_Energy_handler_reg(enter, NULL, NULL);
      MPIX_Energy_handler_dereg();
      for (int i = 0; i < 200; ++i) { /* more than are noted */
        char number[8];
        snprintf(number, sizeof number, "%d", i + 1);
        MPIX_Setting_set("MEANTIME_TIMEOUT", number);
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
