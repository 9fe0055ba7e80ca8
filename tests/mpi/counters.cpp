// The counters of meantime.h: what is counted for a rank and for its core, what is not, and errors.
// On another library: that they are there, and say -1.
//   --cores=N   so many cores (workers) have they
#include <fcntl.h>
#include <meantime.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <thread>

#include "check.h"

namespace {

constexpr int pages = 300;

// Names without parentheses are the functions, not the macros.
bool ours() {
  return MPIX_Counter_start != nullptr;
}

/// Touches so many pages that nobody has touched before.
void fault() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, pages * page);
}

struct Reading {
  MPI_Count rank = -2, core = -2;
};

Reading read_counter(const char* event) {
  Reading reading;
  MUST(MPIX_Counter_read(event, &reading.rank, &reading.core));
  return reading;
}

void only_between_start_and_stop() {
  const Reading before = read_counter("page-faults");
  fault();
  CHECK(read_counter("page-faults").rank == before.rank, "counted before the start");
  MUST(MPIX_Counter_start("page-faults"));
  MUST(MPIX_Counter_start("minor-faults"));
  fault();
  MUST(MPIX_Counter_stop("page-faults"));
  const Reading stopped = read_counter("page-faults");
  CHECK(stopped.rank - before.rank >= pages && stopped.core - before.core >= pages, "%lld, %lld",
        static_cast<long long>(stopped.rank - before.rank),
        static_cast<long long>(stopped.core - before.core));
  CHECK(stopped.rank - before.rank < 2 * pages, "%lld",
        static_cast<long long>(stopped.rank - before.rank));
  fault();
  CHECK(read_counter("page-faults").rank == stopped.rank, "counted after the stop");
  CHECK(read_counter("minor-faults").rank >= 2 * pages, "the other one goes on");
  MUST(MPIX_Counter_stop("minor-faults"));
  MUST(MPIX_Counter_read("minor-faults", nullptr, nullptr));
}

// One rank waits in MPI while another one of its core has page faults: they are not the first
// one's, but its core's.
void others_of_the_core(bool one_core) {
  MPI_Barrier(MPI_COMM_WORLD);
  MUST(MPIX_Counter_start("page-faults"));
  const Reading before = read_counter("page-faults");
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank == check::size - 1) fault();
  MPI_Barrier(MPI_COMM_WORLD);
  const Reading after = read_counter("page-faults");
  MPI_Barrier(MPI_COMM_WORLD);
  MUST(MPIX_Counter_stop("page-faults"));
  const bool faulted = check::rank == check::size - 1;
  const MPI_Count rank = after.rank - before.rank, core = after.core - before.core;
  CHECK(faulted ? rank >= pages : rank < pages, "%lld", static_cast<long long>(rank));
  if (one_core) CHECK(core >= pages, "%lld", static_cast<long long>(core));
}

void task_clock() {
  MUST(MPIX_Counter_start("task-clock"));
  const Reading before = read_counter("task-clock");
  const double wall = MPI_Wtime();
  while (read_counter("task-clock").rank - before.rank < 5'000'000) {
  }
  const double passed = MPI_Wtime() - wall;
  const MPI_Count counted = read_counter("task-clock").rank - before.rank;
  MUST(MPIX_Counter_stop("task-clock"));
  CHECK(passed >= 0.00499, "%lld ns of CPU time in %.6f s", static_cast<long long>(counted),
        passed);
}

bool is_refusal(int code) {
  const int error_class = check::error_class(code);
  return error_class == MPI_ERR_ACCESS || error_class == MPI_ERR_UNSUPPORTED_OPERATION;
}

// What goes through perf_event_open is there, or it is said why not.
void by_perf_event_open() {
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  for (const char* event : {"cpu-migrations", "cycles", "instructions", "PAPI_TOT_CYC",
                            "PAPI_L3_TCM", "dTLB-load-misses"}) {
    const int code = MPIX_Counter_start(event);
    if (code != MPI_SUCCESS) {
      CHECK(is_refusal(code), "%s: %s", event, check::error_text(code).c_str());
      CHECK(check::error_class(MPIX_Counter_stop(event)) == MPI_ERR_OTHER, "%s was not started",
            event);
      MPI_Count count = 0;
      CHECK(is_refusal(MPIX_Counter_read(event, &count, nullptr)), "%s is read as %lld", event,
            static_cast<long long>(count));
      continue;
    }
    Reading reading;
    const int read = MPIX_Counter_read(event, &reading.rank, &reading.core);
    CHECK(
        read == MPI_SUCCESS ? reading.rank >= 0 && reading.core >= reading.rank : is_refusal(read),
        "%s: %lld %lld", event, static_cast<long long>(reading.rank),
        static_cast<long long>(reading.core));
    MUST(MPIX_Counter_stop(event));
  }
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

void errors() {
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Count count = 0;
  for (const char* name : {"", "no-such-event", static_cast<const char*>(nullptr)}) {
    CHECK(check::error_class(MPIX_Counter_start(name)) == MPI_ERR_ARG);
    CHECK(check::error_class(MPIX_Counter_stop(name)) == MPI_ERR_ARG);
    CHECK(check::error_class(MPIX_Counter_read(name, &count, nullptr)) == MPI_ERR_ARG);
  }
  CHECK(check::error_class(MPIX_Counter_stop("page-faults")) == MPI_ERR_OTHER);
  MUST(MPIX_Counter_start("page-faults"));
  CHECK(check::error_class(MPIX_Counter_start("page-faults")) == MPI_ERR_OTHER);
  MUST(MPIX_Counter_stop("page-faults"));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

// The tools interface has the same, and its starts are its own.
void tool_variables() {
  int provided, faults = -1, core = -1, count = 0;
  MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MUST(MPI_T_pvar_get_index("meantime_rank_page_faults", MPI_T_PVAR_CLASS_COUNTER, &faults));
  MUST(MPI_T_pvar_get_index("meantime_core_page_faults", MPI_T_PVAR_CLASS_COUNTER, &core));
  MPI_T_pvar_session session;
  MUST(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle handles[2];
  MUST(MPI_T_pvar_handle_alloc(session, faults, nullptr, &handles[0], &count));
  MUST(MPI_T_pvar_handle_alloc(session, core, nullptr, &handles[1], &count));
  const Reading before = read_counter("page-faults");
  for (MPI_T_pvar_handle handle : handles) MUST(MPI_T_pvar_start(session, handle));
  fault();
  for (MPI_T_pvar_handle handle : handles) MUST(MPI_T_pvar_stop(session, handle));
  CHECK(read_counter("page-faults").rank == before.rank, "a tool's start is not the program's");
  fault();
  for (MPI_T_pvar_handle handle : handles) {
    unsigned long long value = 0;
    MUST(MPI_T_pvar_read(session, handle, &value));
    CHECK(value >= pages, "%llu", value);
    if (handle == handles[0]) CHECK(value < 2 * pages, "%llu", value);
  }
  MUST(MPI_T_pvar_session_free(&session));
  MUST(MPI_T_finalize());
}

// Never back, also of a rank that goes from core to core.
void a_tools_core() {
  int provided, core = -1, count = 0;
  MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MUST(MPI_T_pvar_get_index("meantime_core_page_faults", MPI_T_PVAR_CLASS_COUNTER, &core));
  MPI_T_pvar_session session;
  MUST(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle handle;
  MUST(MPI_T_pvar_handle_alloc(session, core, nullptr, &handle, &count));
  unsigned long long before = 0, now = 0;
  for (int round = 0; round < 20; ++round) {
    if (round % 5 == 0) MUST(MPI_T_pvar_start(session, handle));
    if (check::rank == 0) fault();
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_T_pvar_read(session, handle, &now));
    CHECK(now >= before && now - before < 1'000'000, "%llu, then %llu", before, now);
    before = now;
    if (round % 5 == 4) MUST(MPI_T_pvar_stop(session, handle));
  }
  if (check::rank == 0) CHECK(now >= 20 * pages, "%llu", now);
  MUST(MPI_T_pvar_session_free(&session));
  MUST(MPI_T_finalize());
}

int open_events() {
  int events = 0;
  for (int descriptor = 0; descriptor < 1000; ++descriptor) {
    char name[64], target[64] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    events += readlink(name, target, sizeof target - 1) > 0 && strstr(target, "perf_event");
  }
  return events;
}

// Started and stopped while another thread makes and closes descriptors.
void beside_other_descriptors() {
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const bool counts = MPIX_Counter_start("cpu-migrations") == MPI_SUCCESS;
  if (counts) MUST(MPIX_Counter_stop("cpu-migrations"));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  std::atomic<bool> goes_on{counts};
  std::thread other([&] {
    while (goes_on) close(open("/dev/null", O_RDONLY));
  });
  for (int turn = 0; turn < 500 && counts; ++turn) {
    MUST(MPIX_Counter_start("cpu-migrations"));
    MUST(MPIX_Counter_stop("cpu-migrations"));
  }
  goes_on = false;
  other.join();
}

// What nobody counts is closed. A kernel thread of thread ranks closes what it has when it comes to
// it: some keep theirs for long, but there are few of them, and they keep one each.
void nothing_is_left_open() {
  const int most = check::in_a_host() ? 32 : 0;
  for (int tries = 0; tries < 500; ++tries) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (check::rank == 0 && open_events() <= most) tries = 500;
    MPI_Bcast(&tries, 1, MPI_INT, 0, MPI_COMM_WORLD);
    usleep(10'000);
  }
  CHECK(open_events() <= most, "%d", open_events());
}

}  // namespace

int main(int argc, char** argv) {
  check::start(argc, argv);
  if (ours()) {
    const bool one_core = check::option("cores", 0) == 1;
    only_between_start_and_stop();
    others_of_the_core(one_core || check::size == 1);
    task_clock();
    by_perf_event_open();
    errors();
    tool_variables();
    a_tools_core();
    beside_other_descriptors();
    nothing_is_left_open();
  } else {
    MUST(MPIX_Counter_start("page-faults"));
    const Reading reading = read_counter("page-faults");
    CHECK(reading.rank == -1 && reading.core == -1);
    MUST(MPIX_Counter_stop("page-faults"));
  }
  return check::finish();
}
