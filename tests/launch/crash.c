/* Rank 1 crashes, as argv[1] says; the others wait for it. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) int deref(volatile int* place) {
  return *place; /* here */
}

static __attribute__((noinline)) int deeper(volatile int depth) {
  volatile char room[4096];
  room[depth % 4096] = 1;
  return depth < 0 ? 0 : deeper(depth + 1) + room[(depth + 1) % 4096];
}

static void* in_thread(void* unused) {
  deref(NULL);
  return unused;
}

static void* in_linker(void* library) {
  dlopen(library, RTLD_NOW);
  return NULL;
}

static void on_own(int number) {
  static const char text[] = "own handler\n";
  if (write(1, text, sizeof text - 1) > 0) {
    signal(number, SIG_DFL);
  }
}

static void crash(const char* how) {
  pthread_t thread;
  if (strcmp(how, "null") == 0) {
    deref(NULL);
  } else if (strcmp(how, "abort") == 0) {
    abort(); /* abort here */
  } else if (strcmp(how, "stack") == 0) {
    deeper(1);
  } else if (strcmp(how, "thread") == 0) {
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
  } else if (strchr(how, '/') != NULL) { /* a library whose constructor does not end */
    signal(SIGALRM, SIG_IGN);
    pthread_create(&thread, NULL, in_linker, (void*)how);
    sleep(1);
    deref(NULL);
  } else if (strcmp(how, "buffer") == 0) {
    MPI_Recv((void*)16, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* buffer here */
  } else if (strcmp(how, "no address") == 0) { /* that any process can have */
    deref((int*)0xdead000000000000);
  } else if (strcmp(how, "large") == 0) {
    MPI_Send((void*)16, 64 << 20, MPI_BYTE, 0, 6, MPI_COMM_WORLD); /* large here */
  } else if (strcmp(how, "own") == 0) {
    signal(SIGSEGV, on_own);
    deref(NULL);
  } else if (strcmp(how, "killed") == 0) {
    raise(SIGKILL);
  } else if (strcmp(how, "nowhere") == 0) {
    void (*function)(void) = (void (*)(void))0x1234;
    function(); /* nowhere here */
  } else if (strcmp(how, "child") == 0) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
      deref(NULL);
    }
    waitpid(child, &status, 0);
    printf("child: signal %d\n", WTERMSIG(status));
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  int rank, value = 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    if (strcmp(argv[1], "large") == 0) {
      MPI_Recv(malloc(64 << 20), 64 << 20, MPI_BYTE, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else if (rank == 1) {
    crash(argv[1]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 1 && strcmp(argv[1], "late") == 0) {
    deref(NULL); /* late here */
  }
  return 0;
}
