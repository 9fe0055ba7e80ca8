// Migrations by the counters of meantime.h: a process rank sends itself to and fro, also after it
// has closed descriptors that are not its own. (It calls sched_setaffinity, so it can be no thread
// rank.)
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <meantime.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <thread>

#include "check.h"

namespace {

struct Reading {
  MPI_Count rank = -2, core = -2;
};

Reading read_counter(const char* event) {
  Reading reading;
  MUST(MPIX_Counter_read(event, &reading.rank, &reading.core));
  return reading;
}

bool is_event(int descriptor) {
  char name[64], target[64] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  return readlink(name, target, sizeof target - 1) > 0 && strstr(target, "perf_event");
}

int open_events() {
  int events = 0;
  for (int descriptor = 0; descriptor < 1000; ++descriptor) events += is_event(descriptor);
  return events;
}

/// Closes descriptors of events and takes their numbers for a file that says something else.
int take_descriptors() {
  int taken = 0;
  for (int descriptor = 3; descriptor < 200; ++descriptor) {
    if (!is_event(descriptor)) continue;
    const int file = open("/dev/zero", O_RDONLY);
    CHECK(dup2(file, descriptor) == descriptor);
    close(file);
    ++taken;
  }
  return taken;
}

/// False: the kernel does not count them for this process.
bool migrations() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const bool counts = CPU_COUNT(&mine) > 1 && MPIX_Counter_start("cpu-migrations") == MPI_SUCCESS;
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  if (!counts) return false;
  for (int descriptors = 0; descriptors < 2; ++descriptors) {
    if (descriptors == 1) CHECK(take_descriptors() >= 1);
    const Reading before = read_counter("cpu-migrations");
    for (int turn = 0; turn < 4; ++turn) {
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &mine)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
      }
    }
    const Reading after = read_counter("cpu-migrations");
    CHECK(after.rank - before.rank >= 4, "%lld", static_cast<long long>(after.rank - before.rank));
    CHECK(after.core - before.core == after.rank - before.rank);
  }
  sched_setaffinity(0, sizeof mine, &mine);
  MUST(MPIX_Counter_stop("cpu-migrations"));
  return true;
}

constexpr int pages = 300;

void fault() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, pages * page);
}

// A handle is about the thread that has started it, whoever reads and stops it.
void a_tools_other_thread() {
  int provided, faults = -1, core = -1, count = 0;
  MUST(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided));
  MUST(MPI_T_pvar_get_index("meantime_rank_page_faults", MPI_T_PVAR_CLASS_COUNTER, &faults));
  MUST(MPI_T_pvar_get_index("meantime_core_page_faults", MPI_T_PVAR_CLASS_COUNTER, &core));
  MPI_T_pvar_session session;
  MUST(MPI_T_pvar_session_create(&session));
  for (const int variable : {faults, core}) {
    MPI_T_pvar_handle handle;
    MUST(MPI_T_pvar_handle_alloc(session, variable, nullptr, &handle, &count));
    unsigned long long first = 0, sampled = 0, last = 0;
    MUST(MPI_T_pvar_start(session, handle));
    fault();
    MUST(MPI_T_pvar_read(session, handle, &first));
    std::thread([&] {
      MUST(MPI_T_pvar_read(session, handle, &sampled));
      MUST(MPI_T_pvar_stop(session, handle));
    }).join();
    fault();
    MUST(MPI_T_pvar_read(session, handle, &last));
    CHECK(first >= pages && first < 2 * pages, "%llu", first);
    CHECK(sampled >= first && sampled < first + pages, "%llu, then %llu", first, sampled);
    CHECK(last == sampled, "%llu, then %llu", sampled, last);
  }
  MUST(MPI_T_pvar_session_free(&session));
  MUST(MPI_T_finalize());
}

// Threads come and go, and what they have open goes with them.
void threads_leave_nothing_open() {
  const int before = open_events();
  for (int thread = 0; thread < 20; ++thread) {
    std::thread([] { MUST(MPIX_Counter_start("cpu-migrations")); }).join();
  }
  CHECK(open_events() == before, "%d, then %d", before, open_events());
}

// As in a container whose profile does not allow it: an error that says so, and what needs no
// permission is counted still.
void refused() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return;
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  for (const char* event : {"cpu-migrations", "PAPI_TOT_CYC"}) {
    const int code = MPIX_Counter_start(event);
    CHECK(check::error_class(code) == MPI_ERR_ACCESS, "%s", event);
    CHECK(check::error_text(code).find("perf_event_paranoid") != std::string::npos, "%s",
          check::error_text(code).c_str());
  }
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  for (const char* event : {"page-faults", "context-switches", "task-clock"}) {
    MUST(MPIX_Counter_start(event));
    MUST(MPIX_Counter_stop(event));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::start(argc, argv, MPI_THREAD_SERIALIZED);
  if (MPIX_Counter_start != nullptr) {
    if (migrations()) threads_leave_nothing_open();
    a_tools_other_thread();
    refused();
  }
  return check::finish();
}
