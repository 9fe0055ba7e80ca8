// Migrations by the counters of meantime.h: a process rank sends itself to and fro, also after it
// has closed descriptors that are not its own. (It calls sched_setaffinity, so it can be no thread
// rank.)
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <meantime.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

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

/// Closes descriptors of events and takes their numbers for a file that says something else.
int take_descriptors() {
  int taken = 0;
  for (int descriptor = 3; descriptor < 200; ++descriptor) {
    char name[64], target[64] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    if (readlink(name, target, sizeof target - 1) < 0 || !strstr(target, "perf_event")) continue;
    const int file = open("/dev/zero", O_RDONLY);
    CHECK(dup2(file, descriptor) == descriptor);
    close(file);
    ++taken;
  }
  return taken;
}

void migrations() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const bool counts = CPU_COUNT(&mine) > 1 && MPIX_Counter_start("cpu-migrations") == MPI_SUCCESS;
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  if (!counts) return;
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
  check::start(argc, argv);
  if (MPIX_Counter_start != nullptr) {
    migrations();
    refused();
  }
  return check::finish();
}
