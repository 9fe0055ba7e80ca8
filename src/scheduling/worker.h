// Thread ranks: a host (process) carries many ranks, each on a stack and a thread control block of
// its own, and a few workers (kernel threads) that run them in turn.
//   fiber       a thread rank as its worker sees it
//   own thread  the kernel thread that was made with the fiber's stack and control block. It is
//               parked in the kernel, on the uppermost bytes of that stack, except while the fiber
//               is offloaded
//   offloaded   the fiber runs on its own thread, because it is about to sleep in the kernel: its
//               worker runs the others meanwhile
//   worker      runs at most one fiber at a time, in the order in which they became runnable; with
//               none it polls, takes one from another worker that has too many, or sleeps on its
//               bell
// Knows nothing of MPI or of program images: what a rank does is a function that the host gives.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "node/layout.h"

namespace meantime {

struct Rank;

namespace wait {
class Lateness;
}

namespace ranks {

/// Of a fiber. Every change is checked against the state it comes from.
///   init ──► suspended ◄──► running ──► finalized
///                ▲             │
///                └─ offloaded ◄┘
enum class State : std::uint8_t { init, suspended, running, offloaded, finalized };

/// For how long a worker with nothing to run looks, as a rank that has left it would have it. Of
/// several ranks the most eager one decides. (Who is to poll or to yield for ever does not leave
/// its worker: it does so itself, and lets others run in between.)
enum class Eagerness : std::uint8_t {
  sleeps,  ///< not at all: the rank has been told so, or has looked for long already
  looks,   ///< a few times
  learns,  ///< as long as idle times of this worker were short lately
};
inline constexpr int eagernesses = 3;

struct Fiber;

/// What carries thread ranks besides the ranks themselves; the host's part of the library.
struct Plan {
  int first_rank = 0;  ///< world rank of the first
  int ranks = 0;
  int world_size = 0;
  int workers = 1;
  int first_worker = 0;  ///< number in the node of the first one here
  int job_workers = 0;   ///< of all hosts together, if all ranks of the job are threads; else 0
  int control = -1;      ///< the host's socket to mpiexec
  std::size_t stack_bytes = 0;           ///< reserved for each rank, not committed
  std::size_t guard_bytes = 0;           ///< below each stack, that no access is allowed to
  bool round_robin = false;              ///< which worker a rank begins on: dealt out, or in blocks
  const int* first_workers = nullptr;    ///< … or, by rank, as this says
  bool steal = false;                    ///< an idle worker takes a rank from the one with most
  bool always_move = false;              ///< a test setting: a rank moves whenever it waits
  void (*prepare)(int index) = nullptr;  ///< on the rank's own thread, once, before it runs
  void (*run)(int index) = nullptr;      ///< the rank's whole life
  void (*worker_begins)() = nullptr;     ///< on each kernel thread that runs ranks
  /// Once: this one sleeps where we do not see it, on that kernel thread.
  void (*held_up)(int rank, int thread) = nullptr;
};

/// Makes the fibers, runs them all to their end. Returns an errno if they could not be made.
/// The segment is mapped. Once a process, from its main thread.
int run(const Plan& plan);

// --- For the code of a rank; each does nothing, or says no, in a process rank.

/// Lets the other runnable ranks of this worker run. False if there was none: nothing happened.
bool yield();
/// True if the worker has another rank that could run now.
bool others_runnable();
/// How many ranks it has that could, the caller included.
int runnable();
/// Leaves the worker until this rank's waiter is signalled (sleep/doorbell.cpp). Between
/// hold_worker, after which it may be another worker than before, and suspend or let_go_of_worker
/// nobody moves the rank or takes it off its worker.
void hold_worker();
void let_go_of_worker();
void suspend();
/// The same, until then at most (CLOCK_MONOTONIC, ns). The waiter is `on_futex` still, or
/// signalled.
void suspend_until(node::Waiter& waiter, std::uint64_t at_ns);
/// How late the timers of the calling rank's worker are. Of a thread rank, in its turn.
const wait::Lateness& lateness();
/// From now on the calling rank suspends like that. Nothing in a process rank.
void suspends_with(Eagerness eagerness);
/// The rank is not to be moved to another worker, or may be again.
void stay(bool stays);
/// Ends the calling rank's fiber. Its stack stays.
[[noreturn]] void finish();
/// The calling kernel thread was started by that rank of this host (rank/rank_of_thread.h).
void belong_to(int index);
/// That rank has ended in a thread of its own: nobody waits for its fiber, which may hang for ever
/// or come to its finish() yet.
void abandon(int index);

/// The rank may sleep in the kernel until it comes back: its own thread runs it, or the one that it
/// kept when its worker was handed over. False, and nothing has happened, in a process rank and in
/// one that has left already. `for_a_time`: it sleeps for some time, and not until anything
/// happens.
bool leave_worker(bool for_a_time = false);
/// After `leave_worker` was true. errno stays what it is.
void come_back();

/// The same for a scope.
class Offloaded {
 public:
  Offloaded() : left_(leave_worker()) {}
  ~Offloaded() {
    if (left_) {
      come_back();
    }
  }
  Offloaded(const Offloaded&) = delete;
  Offloaded& operator=(const Offloaded&) = delete;

 private:
  const bool left_;
};

// A working directory and a mask for new files of its own: the kernel keeps them for each thread of
// the host apart (CLONE_FS), and a switch to a rank whose are others changes them, for a system
// call or two. Ranks that never ask pay nothing.
int set_folder(int descriptor);
int set_file_mask(int mask);

/// True if that rank does not run, on the caller's worker, and cannot begin to before the caller
/// leaves it.
bool rests_here(const Rank& rank);

/// Link of the worker that runs this rank; 0 for a process rank.
node::Link worker_of(const Rank& rank);
/// Number of that worker in the node; -1 for a process rank.
int worker_number(const Rank& rank);
/// The one on which it began; a rank may have moved since.
node::Link home_of(const Rank& rank);
int home_number(const Rank& rank);
/// Workers of this host; 0 in a process rank's.
int worker_count();
/// An upper bound of those of all hosts together.
int worker_count_of_job();
/// True if the caller is a thread rank that this worker runs at the moment.
bool runs_on(const node::WorkerPlace& place);
/// The host's socket to mpiexec.
int control();
/// Index in the host of the thread rank whose stack this is, or -1.
int index_of_self();

using WhenIdle = bool (*)();
namespace detail {
extern constinit WhenIdle when_idle;
}
/// Done in each turn of a worker that looks for something to run, if there is such a thing: true if
/// that was of use. Set before the ranks run.
inline WhenIdle& when_idle() {
  return detail::when_idle;
}

}  // namespace ranks
}  // namespace meantime
