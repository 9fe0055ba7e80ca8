/* A tool: where a program's time in MPI goes, call by call, from both points of view. It takes the
 * place of MPI's calls by the profiling interface, so no program has to be changed for it:
 *   mpicc -O2 -shared -fPIC calls.c -o libcalls.so
 *   mpiexec -genv LD_PRELOAD $PWD/libcalls.so -n 4 ./program
 * Thread ranks of a process would share such a library: for them it is linked into the program
 * (mpicc program.c calls.c), which is right for process ranks, too. Rank 0 prints a table in
 * MPI_Finalize, summed over all ranks:
 *
 * - clock: elapsed seconds in the call, by MPI_Wtime
 * - rank: of them the rank itself ran, which is what the call cost it (MPIX_Rtime)
 * - core: of them its core ran ranks, this one or others (MPIX_Ptime, in a section that is the
 *   whole program). In what is left of the clock nobody ran. A process rank is a core of its own.
 *
 * With another MPI all three are the clock's. One thread a rank. */
#include <meantime.h>
#include <stdio.h>

struct reading {
  double clock, rank, core;
};

struct call {
  double count;
  struct reading time;
};

static const char* const names[] = {
    "MPI_Send",    "MPI_Recv",      "MPI_Isend",  "MPI_Irecv",     "MPI_Sendrecv", "MPI_Wait",
    "MPI_Waitall", "MPI_Waitany",   "MPI_Test",   "MPI_Probe",     "MPI_Barrier",  "MPI_Bcast",
    "MPI_Reduce",  "MPI_Allreduce", "MPI_Gather", "MPI_Allgather", "MPI_Scatter",  "MPI_Alltoall"};
enum { number_of_calls = sizeof names / sizeof *names };
static struct call calls[number_of_calls];
static int depth;

static struct reading now(void) {
  const struct reading reading = {MPI_Wtime(), MPIX_Rtime(), MPIX_Ptime()};
  return reading;
}

static void add(struct call* call, struct reading from) {
  const struct reading to = now();
  call->count += 1;
  call->time.clock += to.clock - from.clock;
  call->time.rank += to.rank - from.rank;
  call->time.core += to.core - from.core;
}

/* `number`: its place in `names`. */
#define WRAP(number, call, parameters, arguments) \
  int MPI_##call parameters {                     \
    struct reading before;                        \
    int code;                                     \
    if (depth != 0) return PMPI_##call arguments; \
    before = now();                               \
    ++depth;                                      \
    code = PMPI_##call arguments;                 \
    --depth;                                      \
    add(&calls[number], before);                  \
    return code;                                  \
  }

WRAP(0, Send, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),
     (b, n, t, to, tag, c))
WRAP(1, Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
     (b, n, t, from, tag, c, s))
WRAP(2, Isend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
     (b, n, t, to, tag, c, r))
WRAP(3, Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
     (b, n, t, from, tag, c, r))
WRAP(4, Sendrecv,
     (const void* b, int n, MPI_Datatype t, int to, int tag, void* rb, int rn, MPI_Datatype rt,
      int from, int rtag, MPI_Comm c, MPI_Status* s),
     (b, n, t, to, tag, rb, rn, rt, from, rtag, c, s))
WRAP(5, Wait, (MPI_Request * r, MPI_Status* s), (r, s))
WRAP(6, Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
WRAP(7, Waitany, (int n, MPI_Request r[], int* index, MPI_Status* s), (n, r, index, s))
WRAP(8, Test, (MPI_Request * r, int* flag, MPI_Status* s), (r, flag, s))
WRAP(9, Probe, (int from, int tag, MPI_Comm c, MPI_Status* s), (from, tag, c, s))
WRAP(10, Barrier, (MPI_Comm c), (c))
WRAP(11, Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
WRAP(12, Reduce, (const void* b, void* rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
     (b, rb, n, t, op, root, c))
WRAP(13, Allreduce, (const void* b, void* rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     (b, rb, n, t, op, c))
WRAP(14, Gather,
     (const void* b, int n, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, int root,
      MPI_Comm c),
     (b, n, t, rb, rn, rt, root, c))
WRAP(15, Allgather,
     (const void* b, int n, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, MPI_Comm c),
     (b, n, t, rb, rn, rt, c))
WRAP(16, Scatter,
     (const void* b, int n, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, int root,
      MPI_Comm c),
     (b, n, t, rb, rn, rt, root, c))
WRAP(17, Alltoall,
     (const void* b, int n, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, MPI_Comm c),
     (b, n, t, rb, rn, rt, c))

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  MPIX_Start_processor_timer();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  MPIX_Start_processor_timer();
  return code;
}

int MPI_Finalize(void) {
  struct call sums[number_of_calls];
  int rank, i;
  MPIX_Stop_processor_timer();
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* A call is four numbers, all to be added. */
  PMPI_Reduce(calls, sums, 4 * number_of_calls, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("     calls    clock s     rank s     core s\n");
    for (i = 0; i < number_of_calls; ++i)
      if (sums[i].count > 0)
        printf("%10.0f %10.3f %10.3f %10.3f  %s\n", sums[i].count, sums[i].time.clock,
               sums[i].time.rank, sums[i].time.core, names[i]);
    fflush(stdout);
  }
  return PMPI_Finalize();
}
