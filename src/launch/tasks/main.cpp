// meantime-wire-up: started by a task in MPI_Init, with a pipe to it as standard output
// (protocol/task.h). Nobody starts it by hand.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "launch/messages.h"
#include "launch/start/installation.h"
#include "launch/supervise/ended_process.h"
#include "launch/supervise/front.h"
#include "launch/supervise/supervisor.h"
#include "launch/tasks/gathering.h"
#include "launch/tasks/pmix.h"
#include "machine/process_stat.h"
#include "protocol/control.h"

namespace meantime::launch {
namespace {

std::string read_all(int descriptor) {
  std::string text;
  char part[1024];
  for (ssize_t bytes = 0; (bytes = read(descriptor, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(bytes));
  }
  return text;
}

/// The CPUs that the tasks may use together, which are the job's on this node.
void use_cpus_of(const Job& job) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const RankProcess& rank : job.ranks) {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(rank.pid, sizeof own, &own) == 0) {
      CPU_OR(&all, &all, &own);
    }
  }
  sched_setaffinity(0, sizeof all, &all);
}

void prepare(Job& job, int size, const std::string& path) {
  ProgramRequest program;
  program.ranks = size;
  program.arguments = {path};
  job.command.programs = {program};
  PreparedProgram prepared{program, path, {}};
  prepared.inspection.uses_mpi = true;
  job.programs = {prepared};
  job.ranks.resize(static_cast<std::size_t>(size));
  job.of_tasks = true;
  job.library_folder = library_folder();
  job.settings.read(prefix(), settings::own_environment());
  job.command.on_deadlock =
      deadlock_action(job.setting(deadlock_variable)).value_or(job.command.on_deadlock);
}

/// The supervisor that the node's first task leaves behind.
int supervise_tasks(const std::string& program, int size, pid_t first_task, pid_t launcher) {
  prctl(PR_SET_NAME, supervisor_name);
  setsid();
  speak_as("Meantime");
  Gathering gathering;
  if (const std::string wrong = gathering.open(); !wrong.empty()) {
    write_all(STDOUT_FILENO, not_wired_up + wrong);
    return 1;
  }
  write_all(STDOUT_FILENO, gathering.address());
  // The launcher waits until nobody has the task's output open.
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  Job job;
  prepare(job, size, program);
  job.launcher = watch_process(launcher);
  if (!gathering.wait_for_all(job, first_task)) {
    return 1;
  }
  use_cpus_of(job);
  job.cpus = cpu_budget();
  return supervise(job, getppid());
}

/// The nearest process above the task that is not in the launcher's job itself, as a script is.
pid_t launcher_of(pid_t task) {
  const char* const job = std::getenv("PMIX_NAMESPACE");
  const std::string sign = std::string("PMIX_NAMESPACE=") + (job != nullptr ? job : "");
  pid_t pid = machine::process_stat(task).parent;
  while (pid > 1) {
    std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
    bool has_sign = false;
    for (std::string variable; !has_sign && std::getline(file, variable, '\0');) {
      has_sign = variable == sign;
    }
    if (!has_sign) {
      break;
    }
    pid = machine::process_stat(pid).parent;
  }
  return pid;
}

/// As a child of nobody here, so that the task gets none that it does not know, and by exec: the
/// PMIx library has threads, and descriptors. What it says first is `answer`.
std::string start_supervisor(int size, std::string& answer) {
  std::error_code ignored;
  const auto program =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", getppid()), ignored);
  std::string words[] = {tasks_of + program.string(), fmt::to_string(size),
                         fmt::to_string(getppid()), fmt::to_string(launcher_of(getppid()))};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  int ends[2];
  pid_t between = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
  if (between < 0) {
    return fmt::format("cannot start a process: {}", std::strerror(errno));
  }
  if (between == 0) {
    const pid_t parent = getpid();
    if (fork() == 0) {
      while (getppid() == parent) {
        const timespec moment{0, 1'000'000};
        nanosleep(&moment, nullptr);
      }
      dup2(ends[1], STDOUT_FILENO);
      syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
      execv("/proc/self/exe", arguments);
    }
    _exit(0);
  }
  close(ends[1]);
  waitpid(between, nullptr, 0);
  answer = read_all(ends[0]);
  close(ends[0]);
  return !answer.empty() && !answer.starts_with(not_wired_up) ? std::string()
         : answer.empty()                                     ? "the supervisor has not started"
                          : answer.substr(std::strlen(not_wired_up));
}

/// Empty, or one line why not.
std::string wire_up(Pmix& pmix, std::string& address) {
  if (std::string wrong = pmix.connect(); !wrong.empty()) {
    return wrong;
  }
  const int here = static_cast<int>(pmix.on_this_node().size());
  if (here != pmix.size()) {
    return fmt::format(
        "{} of the job's {} tasks are on this node: Meantime does not support several nodes yet; "
        "give it one (srun -N1, mpirun --host)",
        here, pmix.size());
  }
  if (pmix.rank() == pmix.on_this_node().front()) {
    if (std::string wrong = start_supervisor(here, address); !wrong.empty()) {
      return wrong;
    }
  }
  return pmix.share_from_first(address);
}

int answer() {
  Pmix pmix;
  std::string address;
  const std::string wrong = wire_up(pmix, address);
  write_all(STDOUT_FILENO, wrong.empty() ? fmt::format("{}{} {} {}\n", wired_up, address,
                                                       pmix.rank(), pmix.program())
                                         : fmt::format("{}{}\n", not_wired_up, wrong));
  pmix.disconnect();
  return 0;
}

}  // namespace
}  // namespace meantime::launch

// With four words it is the tasks' supervisor: their program's name, behind which the others are
// nobody's affair, their number, and the pids of the first one and of the launcher.
int main(int count, char** words) {
  using namespace meantime::launch;
  if (count != 4 || !std::string_view(words[0]).starts_with(tasks_of)) {
    return answer();
  }
  const int size = std::atoi(words[1]);
  const pid_t first = std::atoi(words[2]);
  const pid_t launcher = std::atoi(words[3]);
  for (int word = 1; word < count; ++word) {
    std::memset(words[word], 0, std::strlen(words[word]));
  }
  return supervise_tasks(words[0] + std::strlen(tasks_of), size, first, launcher);
}
