// What the library offers to the program that carries thread ranks (src/host): a plain C interface,
// because the two are built and loaded apart. Not for users; may change with every version.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEANTIME_HOST_INTERFACE 9

struct meantime_host_plan {
  int interface_version; /* MEANTIME_HOST_INTERFACE */
  int first_rank;        /* world rank of the first one here */
  int ranks;             /* here */
  int world_size;
  int workers;      /* kernel threads that run them */
  int first_worker; /* number in the node of the first of these */
  int job_workers;  /* of all hosts together, if all ranks of the job are threads; else 0 */
  int segment;      /* descriptor of the job's segment */
  int control;      /* descriptor of the socket to mpiexec */
  size_t stack_bytes;
  size_t guard_bytes;       /* that no access is allowed to, below each rank's stack */
  int round_robin;          /* ranks are dealt out to the workers; else each has a block of them */
  const int* first_workers; /* which worker each rank begins on; or NULL: by round_robin */
  int steal;                /* an idle worker takes ranks from others */
  void (*prepare)(int index);  /* on the rank's own thread, once, before it runs */
  void (*run)(int index);      /* the rank's life: its constructors, main, its exit handlers */
  void (*worker_begins)(void); /* on each worker's kernel thread */
  /* Until it is called again what the caller makes and asks of libc is this one's, and not its
     rank's: NULL is the host. Returns whose it was. */
  void* (*act_for)(void* rank);
};

/* Runs all ranks to their end. 0 or an errno. */
int meantime_host_run(const struct meantime_host_plan* plan);
/* Index of the thread rank that calls, or -1. */
int meantime_host_index(void);
/* Ends the calling rank: its stack is left for good. */
void meantime_host_finish(void) __attribute__((noreturn));
/* If this returns 1 the calling rank may sleep in the kernel until it comes back: its worker runs
   others. 0: no thread rank, or it has left already. `for_a_time`: it sleeps for some time, and not
   until anything happens. */
int meantime_host_leave_worker(int for_a_time);
void meantime_host_come_back(void);
/* From now on the calling rank has this working directory (a descriptor that stays open) or this
   mask for new files, wherever it runs. 0 or an errno. */
int meantime_host_set_folder(int descriptor);
int meantime_host_set_file_mask(int mask);
/* The calling kernel thread was started by the rank of this index: it is no rank, but may ask. */
void meantime_host_belong_to(int index);
/* The rank of this index has ended in another thread of its program. Its stack is left where it is,
   or ends by meantime_host_finish, and nobody waits for it. */
void meantime_host_abandon(int index);
/* MPI_Abort for a thread that belongs to a rank. */
void meantime_host_abort(int code) __attribute__((noreturn));
/* Lets others run; 0 if there was none. */
int meantime_host_yield(void);
/* Tells mpiexec that a (world) rank has ended with this code, or (signal > 0) that it ends the
   whole host by a signal; text is for the user. */
void meantime_host_tell_end(int rank, int code, int signal, const char* text);
/* 0: a rank that crashes does not say where (MEANTIME_BACKTRACE). */
int meantime_host_says_where(void);

#ifdef __cplusplus
}
#endif
