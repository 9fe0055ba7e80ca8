// Each rank forks a child that does what the first word says and ends; then the ranks exchange
// messages. With a second word MPI_THREAD_MULTIPLE, and another thread is in MPI meanwhile.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void be_child(const char* what, int rank, MPI_Session session) {
  int value = -1;
  if (strcmp(what, "finalize") == 0) {
    MPI_Finalize();
  } else if (strcmp(what, "ask") == 0) {  // as mpi4py does at exit
    MPI_Initialized(&value);
    int finalized = 0;
    MPI_Finalized(&finalized);
    int mine = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    exit(value == 1 && finalized == 1 && mine == rank ? 0 : 99);
  } else if (strcmp(what, "abort") == 0) {
    MPI_Abort(MPI_COMM_WORLD, 7);
  } else if (strcmp(what, "send") == 0) {
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else if (strcmp(what, "init") == 0) {
    MPI_Init(NULL, NULL);
  } else if (strcmp(what, "open") == 0) {
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  } else if (strcmp(what, "close") == 0) {
    MPI_Session_finalize(&session);
    MPI_Finalize();
  }
  exit(0);
}

static volatile int done;

static void* stay_in_mpi(void* nothing) {
  while (!done) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  return nothing;
}

int main(int count, char** words) {
  int provided = 0;
  MPI_Init_thread(&count, &words, count > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  pthread_t thread;
  if (count > 2) {
    pthread_create(&thread, NULL, stay_in_mpi, NULL);
  }
  for (int i = 0; i < 10; ++i) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      be_child(words[1], rank, session);
    }
    waitpid(child, &status, 0);
    if (rank == 0 && i == 0) {
      printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
  }
  static char sent[100000];
  static char got[100000];
  int wrong = 0;
  for (int i = 0; i < 300; ++i) {
    const int bytes = i % 3 == 0 ? 8 : i % 3 == 1 ? 6000 : 90000;
    memset(sent, rank + i, sizeof sent);
    MPI_Sendrecv(sent, bytes, MPI_BYTE, (rank + 1) % ranks, 1, got, bytes, MPI_BYTE,
                 (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += got[bytes - 1] != (char)((rank + ranks - 1) % ranks + i);
  }
  done = 1;
  if (count > 2) {
    pthread_join(thread, NULL);
  }
  MPI_Session_finalize(&session);
  MPI_Finalize();
  return wrong != 0;
}
