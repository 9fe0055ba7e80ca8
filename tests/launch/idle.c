/* All ranks but 0 wait for 0.9 s, as the words say: "set" in a way of their own, "comm" on a
 * communicator with a way of its own, "one" where only rank 1 says so, "handler" by an energy
 * handler that says sleep, or poll; "none"; "naps": rank 0 sleeps outside of MPI, again and again
 * for a little time. Rank 0 says how much CPU time its process took
 * meanwhile. */
#include <meantime.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double cpu(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_utime.tv_sec + used.ru_stime.tv_sec +
         1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void sleep_ms(int ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static int answer;
static int enter(const MPIX_Energy_info* info, void* argument) {
  (void)info, (void)argument;
  return answer;
}

int main(int argc, char** argv) {
  int rank, size, value = 0;
  const char* how = argc > 1 ? argv[1] : "none";
  const char* way = argc > 2 ? argv[2] : "event";
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (strcmp(how, "set") == 0) MPIX_Setting_set("MEANTIME_WAIT", way);
  if (strcmp(how, "comm") == 0 || (strcmp(how, "one") == 0 && rank == 1)) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "meantime_wait", way);
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
  }
  if (strcmp(how, "handler") == 0) {
    answer = strcmp(way, "event") == 0 ? MPIX_ENERGY_SLEEP : MPIX_ENERGY_POLL;
    MPIX_Energy_handler_reg(enter, NULL, NULL);
  }
  MPI_Barrier(comm);
  if (rank == 0) {
    sleep_ms(20);
    const double before = cpu();
    if (strcmp(how, "naps") == 0) {
      int flag = 0;
      MPI_Request request;
      MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
      for (const double end = MPI_Wtime() + 0.9; MPI_Wtime() < end;) {
        usleep(20);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      }
      MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      sleep_ms(900);
    }
    printf("%.3f\n", cpu() - before);
    for (int other = 1; other < size; ++other) MPI_Send(&value, 1, MPI_INT, other, 0, comm);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
