// meantime-guests: the keeper's process (keeper.h), started by mpiexec, or by the shim in a rank of
// another MPI.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>

#include "guest/keeper.h"
#include "guest/plan.h"

namespace meantime::guest {
namespace {

/// Of the first process of a namespace, by which it says that it is none.
constexpr int no_namespace = 123;

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
}

/// A program that other libraries live in does not know all that it has open.
void close_all_but(int control) {
  const auto close_between = [](int first, int last) {
    if (first <= last && syscall(SYS_close_range, first, last, 0) != 0) {
      for (int one = first, most = static_cast<int>(sysconf(_SC_OPEN_MAX));
           one <= last && one < most; ++one) {
        close(one);
      }
    }
  };
  close_between(STDERR_FILENO + 1, control - 1);
  close_between(control + 1, INT_MAX);
}

/// The end of the socket's other end makes both of our processes go on, should they be stopped.
/// They are a process group of their own, so that a terminal's keys are for the ranks alone.
void go_on_at_the_end(int control) {
  setpgid(0, 0);
  fcntl(control, F_SETFD, FD_CLOEXEC);
  fcntl(control, F_SETSIG, SIGCONT);
  fcntl(control, F_SETOWN, -getpid());
  fcntl(control, F_SETFL, fcntl(control, F_GETFL) | O_ASYNC);
}

int keep(Plan plan) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return Keeper(std::move(plan)).run();
}

/// With a view of processes that is its own.
bool mount_proc() {
  return mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

/// In a PID namespace, for whoever may make one (root): when its first process is gone, whoever
/// kills that, the kernel ends all that is left in it, and guests do not see the job's processes.
/// The exit status, or `no_namespace`: nothing has begun.
int keep_in_namespace(const Plan& plan) {
  const long child = syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
  if (child < 0) {
    return no_namespace;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(getppid() == 0 && mount_proc() ? keep(plan) : no_namespace);
  }
  int status = 0;
  while (waitpid(static_cast<pid_t>(child), &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace meantime::guest

int main(int count, char** words) {
  using namespace meantime::guest;
  const std::optional<Plan> plan = Plan::of(count, words);
  if (!plan) {
    std::fprintf(stderr, "meantime-guests: mpiexec --guest and meantime steal start it\n");
    return 2;
  }
  block_all_signals();
  close_all_but(plan->control);
  if (plan->detached && fork() != 0) {
    return 0;
  }
  go_on_at_the_end(plan->control);
  int status = keep_in_namespace(*plan);
  if (status == no_namespace) {
    // What mpiexec's end would do at once: now the end of the socket tells, and nothing is left
    // behind. One that is stopped goes on.
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    status = keep(*plan);
  }
  return status;
}
