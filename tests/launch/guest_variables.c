/* Waits until MPI_T says that guests have used CPU time and done something, then says what it read:
 * CPU time in milliseconds, units, how many run. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static MPI_T_pvar_session session;

static MPI_T_pvar_handle open_variable(const char* name, int class) {
  int index, count;
  MPI_T_pvar_handle handle;
  if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) return MPI_T_PVAR_HANDLE_NULL;
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
  MPI_T_pvar_start(session, handle);
  return handle;
}

static double read_time(MPI_T_pvar_handle handle) {
  double value = -1;
  MPI_T_pvar_read(session, handle, &value);
  return value;
}

static unsigned long long read_number(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  MPI_T_pvar_read(session, handle, &value);
  return value;
}

int main(void) {
  int provided;
  MPI_Init(NULL, NULL);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle time = open_variable("meantime_guests_cpu_time", MPI_T_PVAR_CLASS_TIMER);
  MPI_T_pvar_handle units = open_variable("meantime_guests_units", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle running = open_variable("meantime_guests_running", MPI_T_PVAR_CLASS_LEVEL);
  for (int turn = 0; turn < 300 && (read_time(time) <= 0 || read_number(units) == 0); ++turn) {
    const struct timespec pause = {0, 100000000};
    nanosleep(&pause, NULL);
  }
  printf("%.0f %llu %llu\n", read_time(time) * 1e3, read_number(units), read_number(running));
  MPI_Finalize();
  return 0;
}
