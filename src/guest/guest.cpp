#include "guest/guest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "machine/cpu_seconds.h"

namespace meantime::guest {
namespace {

/// The only descriptor of a guest that is not a standard one.
constexpr int counter_place = 3;

constexpr int ioprio_of_idle_class = 3 << 13;  // IOPRIO_CLASS_IDLE; glibc has no name for it
constexpr int ioprio_of_process = 1;           // IOPRIO_WHO_PROCESS

int make_counter() {
  const int file = memfd_create("meantime-guest-units", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file >= 0 && (ftruncate(file, sizeof(std::uint64_t)) != 0 ||
                    fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)) {
    close(file);
    return -1;
  }
  return file;
}

void limit(__rlimit_resource what, std::uint64_t most) {
  rlimit had{};
  getrlimit(what, &had);
  const rlim_t now = std::min<rlim_t>(most, had.rlim_max);
  const rlimit wanted{now, now};
  setrlimit(what, &wanted);
}

/// The kernel's first choice if memory runs out.
void go_first_for_memory() {
  if (const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, "1000", 4);
    close(file);
  }
}

}  // namespace

Guest::Guest(const Plan& plan, int number)
    : plan_(plan), number_(number), log_(plan.log_folder, number), counter_(make_counter()) {}

std::string Guest::name() const {
  return fmt::format("guest {}", number_);
}

std::string Guest::start() {
  const pid_t keeper = getpid();
  log_.begins();
  too_much_.clear();
  began_ = now_seconds();
  pid_ = fork();
  if (pid_ == 0) {
    become(keeper);
  }
  if (pid_ < 0) {
    return fmt::format("cannot start {}: {}", name(), std::strerror(errno));
  }
  setpgid(pid_, pid_);  // it does so too; whoever comes first
  stopped_ = false;
  cpu_seconds_ = 0;
  ++account_.starts;
  return {};
}

void Guest::become(pid_t keeper) const {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) {
    _exit(1);
  }
  sigset_t none;
  sigemptyset(&none);
  for (int signal = 1; signal < NSIG; ++signal) {
    std::signal(signal, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &none, nullptr);

  // In the job's session, and yet without its terminal.
  if (const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY); terminal >= 0) {
    ioctl(terminal, TIOCNOTTY);
  }
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log_.descriptor(), STDOUT_FILENO);
  dup2(log_.descriptor(), STDERR_FILENO);
  if (counter_ >= 0) {
    dup2(counter_, counter_place);
  }
  syscall(SYS_close_range, counter_place + (counter_ >= 0 ? 1 : 0), ~0u, 0);
  if (counter_ >= 0) {
    setenv(units_variable, fmt::format("/proc/self/fd/{}", counter_place).c_str(), 1);
  }
  setenv(number_variable, fmt::to_string(number_).c_str(), 1);
  setenv(count_variable, fmt::to_string(plan_.cpus.size()).c_str(), 1);

  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : plan_.cpus[static_cast<std::size_t>(number_)]) {
    CPU_SET(cpu, &cpus);
  }
  sched_setaffinity(0, sizeof cpus, &cpus);
  // RLIMIT_DATA: what it may write, without what it has only reserved addresses for.
  limit(RLIMIT_DATA, plan_.memory_bytes);
  limit(RLIMIT_FSIZE, plan_.file_bytes);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_MEMLOCK, 0);
  limit(RLIMIT_RTPRIO, 0);
  limit(RLIMIT_NICE, 0);
  go_first_for_memory();
  syscall(SYS_ioprio_set, ioprio_of_process, 0, ioprio_of_idle_class);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (const int capability : {CAP_SYS_NICE, CAP_SYS_RESOURCE}) {
    prctl(PR_CAPBSET_DROP, capability);  // root's, by which it could take more than is left
  }

  std::vector<char*> words;
  for (std::size_t word = 1; word < plan_.command.size(); ++word) {
    words.push_back(const_cast<char*>(plan_.command[word].c_str()));
  }
  words.push_back(nullptr);
  // Last: from here on it may take for ever.
  const sched_param no_priority{};
  sched_setscheduler(0, SCHED_IDLE, &no_priority);
  execv(plan_.command[0].c_str(), words.data());
  if (errno == ENOEXEC) {  // as a shell would: a script without "#!"
    words.front() = const_cast<char*>(plan_.command[0].c_str());
    words.insert(words.begin(), const_cast<char*>("sh"));
    execv("/bin/sh", words.data());
    errno = ENOEXEC;
  }
  const int error = errno;
  dprintf(STDERR_FILENO, "cannot run %s: %s\n", plan_.command[0].c_str(), std::strerror(error));
  _exit(error == ENOENT ? 127 : 126);
}

void Guest::signal(int signal) const {
  if (running()) {
    kill(-pid_, signal);
  }
}

void Guest::let_run(bool run) {
  if (run == stopped_) {
    signal(run ? SIGCONT : SIGSTOP);
    stopped_ = !run;
  }
}

void Guest::kill_for(const std::string& what) {
  too_much_ = what;
  signal(SIGKILL);
}

void Guest::ended(int wait_status, const rusage& used) {
  pid_ = -1;
  had_failed_ = account_.wait_status.value_or(0) != 0;
  account_.wait_status = wait_status;
  account_.cpu_seconds += machine::cpu_seconds(used);
  last_line_ = log_.last_line();
  account_.units = sum(account_.units, units_in(last_line_).value_or(0));
}

std::string Guest::failure() const {
  const int status = account_.wait_status.value_or(0);
  if (status == 0) {
    return {};
  }
  const std::string how = !too_much_.empty() ? fmt::format("was ended: it took {}", too_much_)
                          : WIFSIGNALED(status)
                              ? fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                                            strsignal(WTERMSIG(status)))
                              : fmt::format("ended with status {}", WEXITSTATUS(status));
  return fmt::format("{} {}{}{}", name(), how, last_line_.empty() ? "" : ": ", last_line_);
}

GuestAccount Guest::account() const {
  GuestAccount account = account_;
  std::uint64_t counted = 0;
  if (counter_ >= 0 && pread(counter_, &counted, sizeof counted, 0) == sizeof counted) {
    account.units = sum(account.units, counted);
  }
  return account;
}

}  // namespace meantime::guest
