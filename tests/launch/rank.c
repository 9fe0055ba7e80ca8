/* One MPI program with many ways to end; the first argument chooses. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuse(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  return MPI_ERR_OTHER;
}

static void* linger(void* unused) {
  pause();
  return unused;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "sum";
  int rank, size, sum = 0, got;
  if (!strcmp(what, "before-init") && getenv("MEANTIME_RANK")[0] == '1') return 3;
  if (!strcmp(what, "too-early")) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(what, "library")) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_library_version(text, &got);
    printf("%.8s\n", text);
  }
  if (!strcmp(what, "abort") && rank == (size > 1)) {
    printf("why");
    MPI_Abort(MPI_COMM_WORLD, argc > 2 ? atoi(argv[2]) : 7);
  }
  if (!strcmp(what, "number")) {
    int *number, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
    printf("program %d\n", found ? *number : -1);
  }
  if (!strcmp(what, "crash") && rank == 1) raise(SIGSEGV);
  if (!strcmp(what, "exit") && rank == 1) exit(3);
  if (!strcmp(what, "error") && rank == size - 1)
    MPI_Send(what, 1, MPI_CHAR, 99, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "variables"))
    printf("%s %s %s of %s\n", getenv("MEANTIME_RANK"), getenv("MPI_LOCALRANKID"),
           getenv("MEANTIME_SIZE"), getenv("MPI_LOCALNRANKS"));
  if (!strcmp(what, "mismatch") && rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(what, "mismatch") && rank != 0) MPI_Bcast(&sum, 1, MPI_INT, 1, MPI_COMM_WORLD);
  if (!strcmp(what, "exposed_bcast") ||
      !strcmp(what, "exposed_scatter")) {  // the others call the other one
    enum { bytes = 1 << 20 };
    char* here = calloc(size + 1, bytes);
    if ((rank == 0) == !strcmp(what, "exposed_bcast"))
      MPI_Bcast(here, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
      MPI_Scatter(here, bytes, MPI_BYTE, here + (size_t)size * bytes, bytes, MPI_BYTE, 0,
                  MPI_COMM_WORLD);
    free(here);
  }
  if (!strcmp(what, "exit0") && rank == 1) exit(0);
  if (!strcmp(what, "hang"))
    MPI_Recv(&got, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(what, "reversed")) {  // received in the order in which they are sent, last first
    enum { messages = 100000 };
    static MPI_Request requests[messages];
    static int values[messages];
    for (int i = 0; i < messages && rank == 1; ++i)
      MPI_Isend(&values[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    if (rank == 1) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    for (int i = messages; i-- > 0 && rank == 0;)
      MPI_Recv(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(what, "unread")) {  // more than one mailbox takes
    enum { messages = 1100000 };
    MPI_Request* requests = malloc(messages * sizeof *requests);
    for (int i = 0; i < messages && rank == 1; ++i)
      MPI_Isend(&sum, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[i]);
    if (rank == 0) MPI_Recv(&sum, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(what, "sends") || !strcmp(what, "one sends")) {  // to a rank that receives nothing
    char* large = calloc(1, 8 << 20);
    if (rank == 0 || !strcmp(what, "sends"))
      MPI_Send(large, 8 << 20, MPI_CHAR, (rank + 1) % size, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "late") && rank == 1) sleep(30);
  if (!strcmp(what, "again") || !strcmp(what, "refuse"))
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (!strcmp(what, "refuse")) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (MPI_Finalize() != MPI_SUCCESS) printf("refused\n");
  if (!strcmp(what, "too-late") && rank == size - 1) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!strcmp(what, "again")) MPI_Init(&argc, &argv);
  if (!strcmp(what, "after") && rank == 1) return 9;
  if (!strcmp(what, "linger") && rank == 0) pause();
  if (!strcmp(what, "thread-lingers") && rank == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, linger, NULL);
    pthread_exit(NULL);
  }
  if (rank == 0) printf("sum %d\n", sum);
  return 0;
}
