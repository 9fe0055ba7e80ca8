#include "launch/supervise/front.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "launch/messages.h"
#include "launch/report/ledger_report.h"
#include "launch/report/report_files.h"
#include "launch/supervise/cleanup_process.h"
#include "launch/supervise/interrupt.h"
#include "launch/supervise/supervised_signals.h"
#include "launch/supervise/supervisor.h"
#include "machine/descendants.h"

namespace meantime::launch {

namespace {

void rename_process(const char* name, char** arguments) {
  char* end = arguments[0];
  for (char** argument = arguments; *argument != nullptr; ++argument) {
    if (*argument == end) {
      end += std::strlen(*argument) + 1;
    }
  }
  auto room = static_cast<std::size_t>(end - arguments[0]);
  std::memset(arguments[0], 0, room);
  std::strncpy(arguments[0], name, room - 1);
  prctl(PR_SET_NAME, name);
}

/// A pipe of which nobody has the write end yet: the kernel sends a signal when the only process
/// that then holds it is gone.
class EndNotice {
 public:
  /// Before the fork.
  EndNotice() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) == 0) {
      close(ends[1]);
    }
    read_end_ = ends[0];
  }
  /// Of this process's end.
  void give() const {
    open(fmt::format("/proc/self/fd/{}", read_end_).c_str(), O_WRONLY | O_CLOEXEC);
  }
  void send(int signal, pid_t whom) const {
    if (fcntl(read_end_, F_SETSIG, signal) == 0 && fcntl(read_end_, F_SETOWN, whom) == 0) {
      fcntl(read_end_, F_SETFL, O_ASYNC);
    }
  }

 private:
  int read_end_ = -1;
};

[[noreturn]] void become_supervisor(Job& job, char** arguments, pid_t front,
                                    const EndNotice& supervisor_ends) {
  supervisor_ends.give();
  prctl(PR_SET_PDEATHSIG, front_is_gone_signal());
  if (getppid() != front) {
    _exit(1);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  rename_process(supervisor_name, arguments);
  _exit(supervise(job, front));
}

void tell(pid_t supervisor, Relayed relayed) {
  sigval value{};
  value.sival_int = value_of(relayed);
  sigqueue(supervisor, relayed_signal(), value);
}

/// What the supervisor has left undone. Nothing, if it has come to its end.
void undo_changes(Job& job) {
  if (const std::string problem = job.frequencies.undo(); !problem.empty()) {
    mention(problem);
  }
}

}  // namespace

int run_job(Job& job, char** arguments) {
  // Inherited as ignored it would make the kernel bury our children unseen, and those of the ranks.
  std::signal(SIGCHLD, SIG_DFL);
  const sigset_t signals = supervised_signals();
  sigset_t blocked = signals;
  sigaddset(&blocked, relayed_signal());
  sigprocmask(SIG_BLOCK, &blocked, &job.signal_mask);
  int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  job.has_terminal = terminal >= 0;
  if (terminal >= 0) {
    close(terminal);
  }
  if (job.frequencies.prepared() && !start_cleanup_process(job, rename_process, arguments)) {
    const std::string line = fmt::format("frequencies stay as they are: cannot start a process: {}",
                                         std::strerror(errno));
    if (job.setting("MEANTIME_MACHINE") == "require") {
      say("{} (MEANTIME_MACHINE=require)", line);
      remove_empty_reports(job);
      return 1;
    }
    say(line);
    job.frequencies.forget_all();
  }
  // What came since then there is nobody to pass on to: mpiexec ends of it as anything would.
  sigprocmask(SIG_SETMASK, &job.signal_mask, nullptr);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t front = getpid();
  const EndNotice front_ends;
  const EndNotice supervisor_ends;
  pid_t supervisor = fork();
  if (supervisor == 0) {
    become_supervisor(job, arguments, front, supervisor_ends);
  }
  if (supervisor < 0) {
    say("cannot start a process: {}", std::strerror(errno));
    remove_empty_reports(job);
    return 1;
  }
  if (job.meeting_socket >= 0) {
    close(job.meeting_socket);  // else strangers could connect as long as this process lives
  }
  // One that is stopped goes on by the other's end. (The supervisor may be so before it has asked
  // for its signal itself, PR_SET_PDEATHSIG; when it asks, it looks whether it is too late.)
  front_ends.give();
  front_ends.send(front_is_gone_signal(), supervisor);
  supervisor_ends.send(SIGCONT, front);
  bool interrupted = false;
  for (;;) {
    siginfo_t info{};
    int signal = sigwaitinfo(&blocked, &info);
    if (signal == SIGCHLD) {
      int wait_status = 0;
      pid_t ended = 0;
      while ((ended = waitpid(-1, &wait_status, WNOHANG)) > 0 && ended != supervisor) {
      }
      if (ended != supervisor) {
        continue;
      }
      const bool killed = WIFSIGNALED(wait_status);
      if (killed) {
        machine::kill_descendants(5);
        remove_empty_reports(job);
      }
      undo_changes(job);
      if (killed) {
        mention("the job's supervisor (pid {}) was killed by {}", supervisor,
                signal_text(WTERMSIG(wait_status)));
        return 128 + WTERMSIG(wait_status);
      }
      if (interrupted && WEXITSTATUS(wait_status) == 128 + SIGINT) {
        die_of_interrupt();
      }
      return WEXITSTATUS(wait_status);
    }
    if (signal < 0) {
      continue;
    }
    if (signal == relayed_signal()) {
      if (info.si_pid == supervisor) {
        tell(supervisor, told_all);
      }
      continue;
    }
    // A key of the terminal signals the whole foreground group, the ranks with it; its hang-up only
    // us, if we lead the session.
    bool from_terminal = info.si_code == SI_KERNEL && signal != SIGHUP;
    interrupted = interrupted || (signal == SIGINT && from_terminal);
    tell(supervisor, {signal, from_terminal});
    // One that somebody has stopped, or is about to, would not hear of it. (Not after SIGTSTP: this
    // would wipe out what early_signals.h looks for, and nothing ends by that.)
    if (signal != SIGTSTP) {
      kill(supervisor, SIGCONT);
    }
    if (signal == SIGTSTP) {
      raise(SIGSTOP);
    }
  }
}

}  // namespace meantime::launch
