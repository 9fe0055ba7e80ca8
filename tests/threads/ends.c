/* Rank 1 ends, or makes all wait, in the way that the first word says. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char* word, const char* way) {
  return strcmp(word, way) == 0;
}
static volatile int shared_flag;

static int recurse(int depth) {
  volatile char bytes[4096];
  bytes[depth % 4096] = (char)depth;
  return recurse(depth + 1) + bytes[1];
}

/* Far more than what lies below any stack by default; only its end is touched. */
__attribute__((noinline)) static int large_frame(void) {
  volatile char bytes[100 << 20];
  bytes[0] = 1;
  return bytes[0] - 1;
}

__attribute__((noinline)) static void write_to(volatile int* volatile place) {
  *place = 1;
}
__attribute__((noinline)) static int jump_to(int (*volatile place)(void)) {
  return place() + 1;
}
/* A call to nowhere with nothing of a stack. */
__attribute__((noinline)) static void lose_the_stack(void) {
#if defined(__x86_64__)
  __asm__ volatile("movq $64, %rsp\n\tmovq $64, %rbp\n\txorl %eax, %eax\n\tjmpq *%rax");
#endif
}
/* The allocator finds its own data overwritten, and gives up while it holds its lock. */
__attribute__((noinline)) static void spoil_the_heap(void) {
  const size_t bytes = 100000;
  char* volatile place = malloc(bytes);
  memset(place + bytes, 0xff, 64);
  for (int i = 0; i < 100; i++) {
    char* volatile other = malloc(bytes + 1000);
    other[0] = place[0];
  }
  abort();
}

__attribute__((noinline)) static void write_to_nobody(void) {
  int ends[2];
  if (pipe(ends) == 0 && close(ends[0]) == 0 && write(ends[1], "x", 1) == 1) abort();
}

int main(int count, char** words) {
  const char* way = count > 1 ? words[1] : "";
  MPI_Init(&count, &words);
  int rank, size, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is(way, "tests")) {
    /* Rank 0 only asks, for as long as rank 1 has not got through all of its exchanges. */
    MPI_Request request;
    int done = 0;
    if (rank == 0) {
      MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
      while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      for (int i = 0; i < 1000; i++) {
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 1, 3, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    if (rank == 0) printf(" No Errors\n");
    return 0;
  }
  if (is(way, "deadlock")) {
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (is(way, "lonely")) { /* all but rank 0 leave, and never send */
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
  }
  if (is(way, "all")) write_to((int*)8);
  if (is(way, "all_raise")) raise(SIGTERM);
  if (rank == 1) {
    if (is(way, "segv")) write_to((int*)8);
    if (is(way, "jump")) return jump_to((int (*)(void))16);
    if (is(way, "lost")) lose_the_stack();
    if (is(way, "heap")) spoil_the_heap();
    if (is(way, "stack")) return recurse(0);
    if (is(way, "array") && large_frame() != 0) return 1;
    if (is(way, "abort")) abort();
    if (is(way, "raise")) raise(SIGTERM);
    if (is(way, "kill")) kill(getpid(), SIGKILL);
    if (is(way, "kill_abort")) kill(getpid(), SIGABRT);
    if (is(way, "pthread_kill")) pthread_kill(pthread_self(), SIGUSR1);
    if (is(way, "harmless") && (raise(SIGCHLD) || kill(getpid(), 0) || kill(getpid(), SIGWINCH)))
      return 1;
    if (is(way, "pipe")) write_to_nobody();
    if (is(way, "exit")) exit(3);
    if (is(way, "_exit")) _exit(4);
    if (is(way, "mpi_abort")) MPI_Abort(MPI_COMM_WORLD, 42);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (is(way, "labels")) {
    printf("out %d\n", rank);
    fprintf(stderr, "err %d\n", rank);
    fflush(stdout);
    if (write(1, "raw\n", 4) != 4) return 1;
  }
  if (is(way, "input")) {
    char line[100] = "nothing";
    if (fgets(line, sizeof line, stdin) == NULL) strcpy(line, "end\n");
    printf("%d read %s", rank, line);
  }
  MPI_Finalize();
  return is(way, "status") && rank == 1 ? 5 : shared_flag;
}
