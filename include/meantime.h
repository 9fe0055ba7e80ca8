/* Meantime's own additions to MPI, for C and C++. Everything the standard knows is in mpi.h.
 * Names begin with MPIX_ (calls) or MEANTIME_ (constants). A program that wants to build with
 * other MPIs too tests for MEANTIME_VERSION_MAJOR. */
#ifndef MEANTIME_H
#define MEANTIME_H

#include <mpi.h>

/* The one place that knows the version: CMakeLists.txt reads these three lines. */
#define MEANTIME_VERSION_MAJOR 0
#define MEANTIME_VERSION_MINOR 1
#define MEANTIME_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* Each call is weak and has a macro in front of it: a program that was built with this header
 * starts on another library of the standard ABI too, and the macro does there what can be done
 * without us. */

/* Lets others run, for once: the other thread ranks of this worker, or any process that wants this
 * core. Legal at any time; any thread. Returns MPI_SUCCESS. Without Meantime it does nothing. */
extern int MPIX_Yield(void) __attribute__((weak));
#define MPIX_Yield() (MPIX_Yield != 0 ? MPIX_Yield() : MPI_SUCCESS)

/* The calling rank stays on its core from now on (stay != 0), or may be taken to another one that
 * has nothing to do (0, as at the beginning). Only thread ranks are ever moved by Meantime. Legal
 * at any time; returns MPI_SUCCESS. Without Meantime it does nothing. */
extern int MPIX_Stay(int stay) __attribute__((weak));
#define MPIX_Stay(stay) (MPIX_Stay != 0 ? MPIX_Stay(stay) : MPI_SUCCESS)

/* --- Settings (share/doc/meantime/docs/reference/settings.md; `meantime config` lists them)
 *
 * A setting of the calling rank, by the name that it has in the environment: "MEANTIME_WAIT",
 * "MEANTIME_TRIES_POLL" ... Legal between MPI_Init and MPI_Finalize; any thread. Errors are of
 * class MPI_ERR_ARG (MPI_ERR_OTHER outside of that time) and go to the error handler of
 * MPI_COMM_SELF. */

/* Changes it; "" goes back to what was set outside of the program. Holds from the rank's next wait
 * on; a communicator's own info keys (meantime_wait ...) stand above it. Only settings about
 * waiting may change. One that the site has locked stays as it is, a line on stderr says so once a
 * job, and the call returns MPI_SUCCESS. Without Meantime it does nothing. */
extern int MPIX_Setting_set(const char* name, const char* value) __attribute__((weak));
#define MPIX_Setting_set(name, value) \
  (MPIX_Setting_set != 0 ? MPIX_Setting_set(name, value) : MPI_SUCCESS)

/* What holds now, as a text of at most *length characters with its end; *length becomes how many it
 * takes, as MPI_Info_get_string has it. Without Meantime the text is empty. */
extern int MPIX_Setting_get(const char* name, int* length, char* value) __attribute__((weak));
#define MPIX_Setting_get(name, length, value)                    \
  (MPIX_Setting_get != 0 ? MPIX_Setting_get(name, length, value) \
                         : meantime_no_setting(length, value))

/* --- Energy: who decides what a waiting rank does
 *     (share/doc/meantime/docs/reference/extensions.md)
 *
 * A handler is asked in each wait of the calling rank that is not over at once: first when some
 * looks have found nothing, then every 64 looks and after each sleep. Its answer holds until it is
 * asked again. It must be quick, must not wait in MPI, and is called by the thread that waits. */
#define MPIX_ENERGY_DEFAULT 0 /* as without a handler */
#define MPIX_ENERGY_POLL 1    /* look again, and keep the core */
#define MPIX_ENERGY_YIELD 2   /* give the core to whoever wants it, then look again */
#define MPIX_ENERGY_SLEEP 3   /* sleep until the message comes (after a second every rank sleeps) */

/* A channel: which way a message goes. Through memory that the ranks of a node share (short ones),
 * or from buffer to buffer (large ones, and any between thread ranks). */
#define MPIX_ENERGY_SHARED_MEMORY 1
#define MPIX_ENERGY_DIRECT_COPY 2

typedef struct MPIX_Energy_info {
  int size;                 /* bytes of this struct; later versions only add to its end */
  int rank;                 /* who waits: its rank in MPI_COMM_WORLD */
  int peer;                 /* whom for, the same; MPI_ANY_SOURCE; MPI_PROC_NULL: several or all */
  int channel;              /* of the first message that is not there yet, in `leave` of the last;
                             * before it has met its receive: as one of `bytes` would go */
  const char* call;         /* "MPI_Recv" */
  const char* communicator; /* its name, "" if it has none */
  const void* call_site;    /* where in the program the call returns to */
  MPI_Count bytes;          /* of the first message that is waited for, as far as it is known */
  MPI_Count turns;          /* looks of this wait that found nothing */
  double waited;            /* seconds since this wait began */
  double last_wait;         /* seconds that the last wait at this call site took; 0: none yet */
  int shared_cores;         /* 1: more ranks than cores, or others want this one; then who polls
                             * keeps the one that it waits for from running */
  double busy;              /* of `waited`: seconds awake, polling and yielding ... */
  double last_busy;         /* ... and of `last_wait` */
} MPIX_Energy_info;

/* `info` is valid during the call. Of `leave` the answer is ignored. */
typedef int MPIX_Energy_function(const MPIX_Energy_info* info, void* argument);

/* The calling rank's waits ask `enter` from now on; `leave`, which may be NULL, is called at the
 * end of each wait in which `enter` was. Takes the place of the handler before, whose functions are
 * not called any more once this returns: what they need may be freed, and a wait of another thread
 * that has asked them goes on as without a handler. Legal between MPI_Init and MPI_Finalize;
 * any thread. Returns MPI_SUCCESS, or an error of class MPI_ERR_ARG (no `enter`) or MPI_ERR_OTHER
 * (outside of that time), through the error handler of MPI_COMM_SELF. Where the site has locked
 * MEANTIME_ENERGY or MEANTIME_ENERGY_HANDLER (as a lock of MEANTIME_WAIT does) it does nothing but
 * to say so on stderr, once a job, and returns MPI_SUCCESS. Without Meantime it does nothing. */
extern int MPIX_Energy_handler_reg(MPIX_Energy_function* enter, MPIX_Energy_function* leave,
                                   void* argument) __attribute__((weak));
#define MPIX_Energy_handler_reg(enter, leave, argument) \
  (MPIX_Energy_handler_reg != 0 ? MPIX_Energy_handler_reg(enter, leave, argument) : MPI_SUCCESS)

/* Back to what the environment says (MEANTIME_ENERGY, MEANTIME_ENERGY_HANDLER), or to none; the
 * functions are not called any more, as above. */
extern int MPIX_Energy_handler_dereg(void) __attribute__((weak));
#define MPIX_Energy_handler_dereg() \
  (MPIX_Energy_handler_dereg != 0 ? MPIX_Energy_handler_dereg() : MPI_SUCCESS)

/* --- Clocks for ranks that share a core (share/doc/meantime/docs/reference/clocks.md)
 *
 * MPI_Wtime goes on while a rank waits for its turn, so with several ranks a core it says little
 * about any of them. All of these are legal at any time, also before MPI_Init and after
 * MPI_Finalize. Each thread has clocks of its own. Only differences of what one thread read mean
 * anything. */

/* Seconds that the calling rank has run since a moment in its past; as MPI_Wtime, but it stands
 * still while the rank waits in MPI, be it asleep or polling, and while others of its worker have
 * their turn.
 *
 * What the program sleeps by itself is its own time (sleep, a read that waits, a page that comes
 * from a disk); what the kernel gives to other programs is not. A thread rank's goes by the
 * processor's tick (0.4 ns at 2.5 GHz), a process rank's by the kernel's clocks (1 ns, and some
 * system calls).
 *
 * Without Meantime: MPI_Wtime(). */
extern double MPIX_Rtime(void) __attribute__((weak));
#define MPIX_Rtime() (MPIX_Rtime != 0 ? MPIX_Rtime() : MPI_Wtime())

/* Mark the beginning and the end of the section that the core's clock counts, for the calling rank:
 * it ticks while a rank of this core runs (as MPIX_Rtime means it) inside of the section. A rank
 * that moves to another core goes on with that one's clock.
 * Returns MPI_SUCCESS, or an error of class MPI_ERR_OTHER, through the error handler of
 * MPI_COMM_SELF (outside of MPI_Init and MPI_Finalize without one): start in a section, stop in
 * none. Then nothing has changed. Without Meantime these are not found, a second start begins
 * anew. */
extern int MPIX_Start_processor_timer(void) __attribute__((weak));
extern int MPIX_Stop_processor_timer(void) __attribute__((weak));
#define MPIX_Start_processor_timer() \
  (MPIX_Start_processor_timer != 0 ? MPIX_Start_processor_timer() : meantime_section_begins())
#define MPIX_Stop_processor_timer() \
  (MPIX_Stop_processor_timer != 0 ? MPIX_Stop_processor_timer() : meantime_section_ends())

/* Seconds on the clock of the core (worker) that the calling rank runs on, the same for all of its
 * ranks; while a thread rank sleeps by itself, its core runs others. A process rank counts as a
 * core of its own: what MPIX_Rtime gained inside of the section. Without Meantime: the wall-clock
 * time inside of the section. */
extern double MPIX_Ptime(void) __attribute__((weak));
#define MPIX_Ptime() (MPIX_Ptime != 0 ? MPIX_Ptime() : meantime_section_seconds())

/* --- Counters for ranks that share a core (the same page)
 *
 * Counts an event for the calling rank between a start and a stop, only while the rank runs (as
 * MPIX_Rtime means it), and for its core, as MPIX_Ptime does: while any of the core's ranks runs
 * between its own start and stop. `event` is a name of perf ("page-faults", "context-switches",
 * "cpu-migrations", "task-clock", "cycles", "cache-misses" ...) or of PAPI ("PAPI_TOT_CYC" ...).
 * Several events may be counted at once. Legal at any time; each thread has counters of its own,
 * and should stop those that it has started.
 * Errors go to the error handler of MPI_COMM_SELF: MPI_ERR_ARG, there is no such name;
 * MPI_ERR_ACCESS, the kernel does not let this process count it (perf_event_paranoid, a container's
 * seccomp profile); MPI_ERR_UNSUPPORTED_OPERATION, this machine does not count it; MPI_ERR_OTHER,
 * a start of what is started, a stop of what is not.
 * Without Meantime these do nothing. */
extern int MPIX_Counter_start(const char* event) __attribute__((weak));
extern int MPIX_Counter_stop(const char* event) __attribute__((weak));
#define MPIX_Counter_start(event) \
  (MPIX_Counter_start != 0 ? MPIX_Counter_start(event) : MPI_SUCCESS)
#define MPIX_Counter_stop(event) (MPIX_Counter_stop != 0 ? MPIX_Counter_stop(event) : MPI_SUCCESS)

/* What has been counted so far: use differences. `rank` or `core` may be NULL. Without Meantime
 * both become -1. */
extern int MPIX_Counter_read(const char* event, MPI_Count* rank, MPI_Count* core)
    __attribute__((weak));
#define MPIX_Counter_read(event, rank, core) \
  (MPIX_Counter_read != 0 ? MPIX_Counter_read(event, rank, core) : meantime_no_count(rank, core))

/* Not for programs: what the macros do without Meantime. One for all files of a program. */
__attribute__((weak)) double meantime_section_sum = 0;
__attribute__((weak)) double meantime_section_since = 0; /* 0: in no section */
static __inline__ __attribute__((unused)) double meantime_section_seconds(void) {
  return meantime_section_sum +
         (meantime_section_since != 0 ? MPI_Wtime() - meantime_section_since : 0);
}
static __inline__ __attribute__((unused)) int meantime_section_begins(void) {
  meantime_section_since = MPI_Wtime();
  return MPI_SUCCESS;
}
static __inline__ __attribute__((unused)) int meantime_section_ends(void) {
  meantime_section_sum = meantime_section_seconds();
  meantime_section_since = 0;
  return MPI_SUCCESS;
}

static __inline__ __attribute__((unused)) int meantime_no_count(MPI_Count* rank, MPI_Count* core) {
  if (rank != 0) {
    *rank = -1;
  }
  if (core != 0) {
    *core = -1;
  }
  return MPI_SUCCESS;
}

static __inline__ __attribute__((unused)) int meantime_no_setting(int* length, char* value) {
  if (*length > 0) {
    value[0] = '\0';
  }
  *length = 1;
  return MPI_SUCCESS;
}

#ifdef __cplusplus
}
#endif

#endif
