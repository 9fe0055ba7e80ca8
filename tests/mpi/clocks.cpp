// The clocks of meantime.h: what makes them tick and what does not, and calls that do not match.
// No time is judged but against another clock of the same run, and where a stalled machine could
// spoil that, the best of ten counts. On another library: that they are there, as wall-clock.
//   --cores=N   so many cores (workers) have they
#include <meantime.h>
#include <time.h>
#include <unistd.h>

#include <cmath>

#include "check.h"

namespace {

// Names without parentheses are the functions, not the macros.
bool ours() {
  return MPIX_Rtime != nullptr;
}

bool thread_ranks = false;
long cores = 0;

void compute_a_little() {
  volatile double x = 1;
  for (int i = 0; i < 2000; ++i) x = x * 1.0000001 + 1e-9;
}

/// Ends only if the clock ticks.
void compute_until_ran(double seconds) {
  const double start = MPIX_Rtime();
  while (MPIX_Rtime() - start < seconds) compute_a_little();
}

template <class Try>
void best_of_some(const char* what, Try&& good) {
  for (int attempt = 0; attempt < 10; ++attempt)
    if (good()) return;
  CHECK(false, "%s, ten times", what);
}

void never_goes_back() {
  double last_rank = MPIX_Rtime(), last_core = MPIX_Ptime();
  for (int i = 0; i < 20000; ++i) {
    const double rank_time = MPIX_Rtime(), core_time = MPIX_Ptime();
    CHECK(rank_time >= last_rank && core_time >= last_core, "%.9f %.9f", rank_time - last_rank,
          core_time - last_core);
    last_rank = rank_time;
    last_core = core_time;
    if (i % 5000 == 0) MPIX_Yield();
  }
  CHECK(std::isfinite(last_rank) && std::isfinite(last_core));
}

void is_no_faster_than_the_wall() {
  const double wall = MPI_Wtime(), ran = MPIX_Rtime();
  compute_until_ran(0.02);
  const double rank_time = MPIX_Rtime() - ran, wall_time = MPI_Wtime() - wall;
  CHECK(rank_time <= wall_time * 1.001 + 1e-4, "%.6f of %.6f s", rank_time, wall_time);
}

// Rank 0 waits while the last one computes; the way of waiting is the caller's.
template <class Wait>
bool stands_still(Wait&& wait) {
  constexpr int tag = 1;
  const int other = check::size - 1;
  double ratio = 0;
  if (check::rank == other) {
    compute_until_ran(0.05);
    MUST(MPI_Send(nullptr, 0, MPI_BYTE, 0, tag, MPI_COMM_WORLD));
  } else if (check::rank == 0) {
    const double wall = MPI_Wtime(), ran = MPIX_Rtime();
    wait(other, tag);
    ratio = (MPIX_Rtime() - ran) / (MPI_Wtime() - wall);
  }
  MPI_Bcast(&ratio, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return ratio < 0.5;
}

void who_waits_does_not_tick() {
  if (check::size < 2) return;
  best_of_some("the clock ticks in MPI_Recv", [] {
    return stands_still([](int from, int tag) {
      MUST(MPI_Recv(nullptr, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    });
  });
  if (!thread_ranks || cores != 1) return;
  best_of_some("the clock ticks while others have their turn", [] {
    return stands_still([](int from, int tag) {
      MPI_Request request;
      int done = 0;
      MUST(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request));
      while (!done) MUST(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    });
  });
}

// The paper's Listing 1, with computation in the place of sleep.
void ranks_of_a_core_share_its_time() {
  const double wall = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  const double ran = MPIX_Rtime();
  for (int i = 0; i < 3; ++i) {
    compute_until_ran(0.005);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  double mine = MPIX_Rtime() - ran, all = 0;
  CHECK(mine >= 0.015);
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double wall_time = MPI_Wtime() - wall;
  CHECK(cores == 0 || all <= static_cast<double>(cores) * wall_time * 1.001 + 1e-4,
        "%.6f s together on %ld cores in %.6f s", all, cores, wall_time);
}

void the_cores_clock() {
  // Nobody else runs on this core until the next call that may wait.
  const double before = MPIX_Ptime();
  compute_until_ran(0.002);
  CHECK(MPIX_Ptime() == before, "it ticks outside of the section");
  const double outer = MPIX_Rtime();
  MUST(MPIX_Start_processor_timer());
  const double inner = MPIX_Rtime();
  compute_until_ran(0.002);
  const double inner_time = MPIX_Rtime() - inner;
  const double within = MPIX_Ptime() - before;
  MUST(MPIX_Stop_processor_timer());
  const double outer_time = MPIX_Rtime() - outer;
  const double counted = MPIX_Ptime() - before;
  CHECK(inner_time * 0.9999 <= within && within <= counted && counted <= outer_time * 1.0001,
        "ranks' clock %.9f, core's %.9f, in the section %.9f, rank's around it %.9f", inner_time,
        counted, within, outer_time);
  CHECK(MPIX_Ptime() == before + counted || MPIX_Ptime() - before == counted);
}

// Of one core: what it counts is what its ranks ran, waits inside of the section left out.
void the_cores_clock_is_its_ranks() {
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = MPIX_Ptime();
  const double wall = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  compute_until_ran(0.002 * check::rank);
  MUST(MPIX_Start_processor_timer());
  const double ran = MPIX_Rtime();
  for (int i = 0; i < 3; ++i) {
    compute_until_ran(0.002);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  double mine = MPIX_Rtime() - ran, all = 0;
  MUST(MPIX_Stop_processor_timer());
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double counted = MPIX_Ptime() - before;
  const double wall_time = MPI_Wtime() - wall;
  if (!thread_ranks) {
    CHECK(counted >= mine * 0.999, "%.6f of %.6f s", counted, mine);
  } else if (cores == 1) {
    CHECK(counted >= all * 0.999 && counted <= wall_time * 1.001, "%.6f s; ranks %.6f, wall %.6f",
          counted, all, wall_time);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// A sleep outside of MPI is the rank's own time. A thread rank runs on, away from its core; a
// process rank is its core.
void sleep_counts() {
  MUST(MPIX_Start_processor_timer());
  best_of_some("the clocks and a sleep", [] {
    const double wall = MPI_Wtime(), ran = MPIX_Rtime(), core = MPIX_Ptime();
    usleep(20000);
    const double core_time = MPIX_Ptime() - core;
    const double rank_time = MPIX_Rtime() - ran, wall_time = MPI_Wtime() - wall;
    if (rank_time < 0.0199 || rank_time > wall_time * 1.001 + 1e-4) return false;
    // Others of a thread rank's core are in the section as well, but none for so long.
    return thread_ranks ? check::size > 4 || core_time < wall_time / 2 : core_time >= 0.0199;
  });
  MUST(MPIX_Stop_processor_timer());
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

// What the kernel gives to others is not, also in a piece that has a sleep in it. All ranks compute
// and sleep at the same time: with more of them than cores they take turns.
void preemption_does_not_count() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (!thread_ranks)
    best_of_some("the clock and a preemption", [] {
      const double ran = MPIX_Rtime(), cpu = cpu_seconds(), wall = MPI_Wtime();
      double slept = 0;
      for (int i = 0; i < 5; ++i) {
        while (cpu_seconds() - cpu < 0.01 * (i + 1)) compute_a_little();
        const double asleep = MPI_Wtime();
        usleep(2000);
        slept += MPI_Wtime() - asleep;  // and until it had a core again
      }
      const double rank_time = MPIX_Rtime() - ran, needed = cpu_seconds() - cpu;
      return rank_time >= needed + 0.0099 && rank_time <= needed + slept + 1e-3 &&
             rank_time <= MPI_Wtime() - wall + 1e-4;
    });
  MPI_Barrier(MPI_COMM_WORLD);
}

int handled = 0;

void count_error(MPI_Comm*, int* code, ...) {
  handled += check::error_class(*code) == MPI_ERR_OTHER ? 1 : 100;
}

void unmatched() {
  if (!ours()) return;
  for (int own_handler = 0; own_handler < 2; ++own_handler) {
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    if (own_handler) MUST(MPI_Comm_create_errhandler(count_error, &handler));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    CHECK(check::error_class(MPIX_Stop_processor_timer()) == MPI_ERR_OTHER);
    MUST(MPIX_Start_processor_timer());
    CHECK(check::error_class(MPIX_Start_processor_timer()) == MPI_ERR_OTHER);
    const double before = MPIX_Ptime();
    compute_until_ran(0.001);
    CHECK(MPIX_Ptime() - before >= 0.00099, "the failed start has ended the section");
    MUST(MPIX_Stop_processor_timer());
    CHECK(check::error_class(MPIX_Stop_processor_timer()) == MPI_ERR_OTHER);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    if (own_handler) MUST(MPI_Errhandler_free(&handler));
  }
  CHECK(handled == 3, "%d", handled);
}

// Another library: everything is there and counts the wall's time.
void plain_wall_clock() {
  const double ran = MPIX_Rtime(), wall = MPI_Wtime();
  MUST(MPIX_Start_processor_timer());
  check::sleep_ms(20);
  MUST(MPIX_Stop_processor_timer());
  const double counted = MPIX_Ptime();
  check::sleep_ms(20);
  const double rank_time = MPIX_Rtime() - ran;
  CHECK(rank_time >= 0.039 && MPI_Wtime() - wall >= 0.039);
  CHECK(counted >= 0.0199 && counted == MPIX_Ptime() && counted <= rank_time);
}

}  // namespace

int main(int argc, char** argv) {
  const double early = ours() ? MPIX_Rtime() : 0;
  check::start(argc, argv);
  thread_ranks = check::in_a_host();
  cores = check::option("cores", 0);
  if (ours()) {
    CHECK(MPIX_Rtime() >= early);
    never_goes_back();
    is_no_faster_than_the_wall();
    who_waits_does_not_tick();
    ranks_of_a_core_share_its_time();
    the_cores_clock();
    the_cores_clock_is_its_ranks();
    sleep_counts();
    preemption_does_not_count();
    unmatched();
  } else {
    plain_wall_clock();
  }
  const int result = check::finish();
  if (ours()) {
    const double late = MPIX_Rtime();
    if (!(late >= early) || MPIX_Stop_processor_timer() == MPI_SUCCESS) return 1;
  }
  return result;
}
