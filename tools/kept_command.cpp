#include "kept_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>

#include "base/clock.h"
#include "launch/messages.h"
#include "launch/supervise/interrupt.h"
#include "machine/descendants.h"
#include "machine/process_stat.h"
#include "settings/shown.h"

namespace meantime::tools {
namespace {

/// The kernel's, to a keeper whose front is gone; one that is stopped goes on by it.
constexpr int front_is_gone = SIGCONT;
/// What the command leaves has this long to end by SIGTERM.
constexpr std::uint64_t patience_ns = 2'000'000'000;

sigset_t heard_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, front_is_gone}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

struct Ended {
  bool by_itself;   ///< else the process that started this one is gone
  int wait_status;  ///< the child's
};

/// Until the child has ended: passes on what comes, but for the terminal's keys, which signal the
/// whole group. `parent`: who must not be gone; 0: nobody.
Ended pass_signals_on(pid_t child, pid_t parent, bool& interrupted) {
  const sigset_t signals = heard_signals();
  while (parent == 0 || getppid() == parent) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD) {
      int wait_status = 0;
      for (pid_t ended = 0; (ended = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
        if (ended == child) {
          return {true, wait_status};
        }
      }
    } else if (signal > 0 && signal != front_is_gone) {
      const bool from_terminal = info.si_code == SI_KERNEL && signal != SIGHUP;
      interrupted = interrupted || (from_terminal && signal == SIGINT);
      if (!from_terminal) {
        kill(child, signal);
      }
    }
  }
  return {false, 0};
}

/// An mpiexec among it ends its job in order; what takes too long is killed.
void end_what_is_left() {
  const std::uint64_t end = now_ns() + patience_ns;
  std::set<pid_t> told;
  while (now_ns() < end) {
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0) {
      return;
    }
    for (const auto& [pid, stat] : machine::ProcessTree().below(getpid())) {
      if (stat.parent == getpid() && told.insert(pid).second) {
        kill(pid, SIGTERM);
        kill(pid, SIGCONT);
      }
    }
    usleep(2000);
  }
  machine::kill_descendants(5);
}

[[noreturn]] void become_command(const KeptCommand& command, pid_t keeper,
                                 const sigset_t& signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) {
    _exit(1);
  }
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  std::vector<char*> words;
  for (const std::string& word : command.words) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  execvp(command.path.c_str(), words.data());
  launch::say("cannot run '{}': {}", settings::shown_path(command.path), std::strerror(errno));
  _exit(126);
}

[[noreturn]] void become_keeper(const KeptCommand& command, pid_t front, int answer,
                                const sigset_t& signals) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string problem = command.keep();
  // Not before: a change of credentials would take it back.
  prctl(PR_SET_PDEATHSIG, front_is_gone);
  // What has come since then there is nobody to pass on to: it ends this one as it would anything.
  const sigset_t heard = heard_signals();
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  sigprocmask(SIG_BLOCK, &heard, nullptr);
  if (!problem.empty()) {
    launch::write_all(answer, problem);
    _exit(1);
  }
  const pid_t keeper = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become_command(command, keeper, signals);
  }
  if (child < 0) {
    launch::say("cannot start a process: {}", std::strerror(errno));
    _exit(1);
  }
  close(answer);
  bool interrupted = false;
  const Ended ended = pass_signals_on(child, front, interrupted);
  if (!ended.by_itself) {
    machine::kill_descendants(5);
    _exit(1);
  }
  end_what_is_left();
  _exit(WIFSIGNALED(ended.wait_status) ? 128 + WTERMSIG(ended.wait_status)
                                       : WEXITSTATUS(ended.wait_status));
}

/// All that comes until nobody can write any more.
std::string read_answer(int descriptor) {
  std::string answer;
  char text[512];
  for (ssize_t bytes = 0; (bytes = read(descriptor, text, sizeof text)) > 0;) {
    answer.append(text, static_cast<std::size_t>(bytes));
  }
  close(descriptor);
  return answer;
}

}  // namespace

std::string run_kept(const KeptCommand& command, int& status) {
  launch::speak_as(command.name.c_str());
  status = 1;
  std::signal(SIGCHLD, SIG_DFL);  // inherited as ignored it would have our children buried unseen
  const sigset_t heard = heard_signals();
  sigset_t signals;
  sigprocmask(SIG_BLOCK, &heard, &signals);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int answer[2];
  if (pipe2(answer, O_CLOEXEC) != 0) {
    return fmt::format("cannot start: {}", std::strerror(errno));
  }
  const pid_t front = getpid();
  const pid_t keeper = fork();
  if (keeper == 0) {
    close(answer[0]);
    become_keeper(command, front, answer[1], signals);
  }
  close(answer[1]);
  if (keeper < 0) {
    close(answer[0]);
    return fmt::format("cannot start a process: {}", std::strerror(errno));
  }
  std::string problem = read_answer(answer[0]);
  bool interrupted = false;
  const Ended ended = pass_signals_on(keeper, 0, interrupted);
  status = WEXITSTATUS(ended.wait_status);
  if (WIFSIGNALED(ended.wait_status)) {
    const int signal = WTERMSIG(ended.wait_status);
    machine::kill_descendants(5);
    status = 128 + signal;
    if (signal != SIGINT) {
      launch::say("its process {} was killed by {}", keeper, launch::signal_text(signal));
    }
  }
  if (interrupted && status == 128 + SIGINT) {
    launch::die_of_interrupt();
  }
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  return problem;
}

}  // namespace meantime::tools
