#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/version.h"
#include "launch/inspect/crash_report.h"
#include "launch/inspect/process_info.h"
#include "launch/inspect/report.h"
#include "launch/messages.h"
#include "launch/start/installation.h"
#include "launch/supervise/ended_process.h"
#include "launch/supervise/supervisor_parts.h"
#include "protocol/task.h"
#include "settings/shown.h"
#include "symbolize/symbolized_text.h"

namespace meantime::launch {
namespace {

/// A rank may send any topics; nobody reads more than these.
constexpr std::size_t most_remarks = 100;

/// The first line of a text, without its end, which is taken off it.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

void Supervisor::on_control(int rank) {
  RankProcess& process = job_.ranks[rank];
  while (process.control >= 0) {
    switch (channel_.receive(process.control)) {
      case ControlChannel::Outcome::nothing:
        if (std::exchange(process.was_gone, false)) {
          on_mpi_process_gone(rank);
        }
        return;
      case ControlChannel::Outcome::hung_up:
        close(process.control);
        process.control = -1;
        return;
      case ControlChannel::Outcome::foreign:
        on_foreign_message(rank);
        break;
      case ControlChannel::Outcome::message:
        on_message(rank, channel_.message, channel_.text);
        break;
    }
  }
}

void Supervisor::on_host_control(int number) {
  ThreadHost& host = job_.hosts[number];
  while (host.control >= 0) {
    switch (channel_.receive(host.control)) {
      case ControlChannel::Outcome::nothing:
        return;
      case ControlChannel::Outcome::hung_up:
      case ControlChannel::Outcome::foreign:  // nobody else has that socket
        close(host.control);
        host.control = -1;
        return;
      case ControlChannel::Outcome::message: {
        const int rank = channel_.message.rank;
        if (rank >= host.first_rank && rank < host.first_rank + host.ranks) {
          on_message(rank, channel_.message, channel_.text);
        }
        break;
      }
    }
  }
}

// Whoever sends a signal may have seen of a rank what that rank has told us before: which process
// is the program, for one.
void Supervisor::hear_all() {
  for (int host = 0; host < static_cast<int>(job_.hosts.size()); ++host) {
    on_host_control(host);
  }
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    on_control(rank);
  }
}

void Supervisor::on_message(int rank, const ControlMessage& message, std::string_view text) {
  RankProcess& process = job_.ranks[rank];
  switch (message.kind) {
    case ControlKind::hello: {
      std::string_view said = text;
      const std::string_view its_version = take_line(said);
      process.way_to_wait = take_line(said);
      process.energy_policy = take_line(said);
      process.mpi_pid = channel_.sender > 0 ? channel_.sender : process.pid;
      if (message.version != control_version || its_version != version) {
        ending_.begin(
            1, fmt::format("{} uses Meantime {}, mpiexec is {}: use those of one installation",
                           name(rank), its_version, version));
      } else if (process.phase != MpiPhase::outside) {
        ending_.begin(
            1, fmt::format("{} is the second MPI program of its rank: one is all there can be",
                           name(rank)));
      } else {
        process.phase = MpiPhase::inside;
        ++inside_;
        guests_.begin();
        if (inside_ == job_.ranks_here()) {
          look_at_waits();
        }
        if (process.mpi_pid != process.pid && process.host < 0) {
          process.mpi_process = watch_process(process.mpi_pid);
          if (process.mpi_process >= 0) {
            watch(process.mpi_process, Source::mpi_process, rank);
          }
          process.was_gone = process.mpi_process < 0 && errno == ESRCH;
        }
        check_for_stragglers();
      }
      break;
    }
    case ControlKind::finalized:
      process.phase = MpiPhase::finalized;
      if (may_leave_) {
        let_leave(process);
      }
      if (std::all_of(job_.ranks.begin(), job_.ranks.end(),
                      [](const RankProcess& one) { return one.phase == MpiPhase::finalized; })) {
        ignore_waits();
        guests_.end();
      }
      break;
    case ControlKind::address:
      tell_addresses();
      break;
    case ControlKind::back:
      process.phase = MpiPhase::inside;
      process.sessions_only = false;  // if it is a session, that is said next
      break;
    case ControlKind::sessions:
      process.sessions_only = message.code != 0;
      break;
    case ControlKind::abort: {
      // The exit status has eight bits; an error must not become a success by losing the others.
      int status = message.code & 0xff;
      status = status == 0 && message.code != 0 ? 1 : status;
      if (ending_.begun()) {
        break;
      }
      // As long as the rank is there: it waits to be ended. The others would go on, and are not to
      // do so while addr2line runs.
      const UnsymbolizedText line(
          text.empty()
              ? fmt::format("{} called MPI_Abort with code {}", name(rank), message.code)
              : fmt::format("{}: {}", name(rank), settings::shown(text, settings::any_length)));
      if (!job_.of_tasks) {
        ending_.begin(status, {});
      }
      mention(line.named(most_naming_seconds));
      let_task_end(rank, status);
      ending_.begin(status, {});
      break;
    }
    case ControlKind::remark: {
      std::string_view line = text;
      const std::string topic(take_line(line));
      if (job_.told.size() < most_remarks && job_.told.insert(topic).second) {
        mention(line);
      }
      break;
    }
    case ControlKind::ended:
      process.ended = true;
      process.wait_status = W_EXITCODE(message.code & 0xff, 0);
      if (!ending_.begun()) {
        judge(rank, process.wait_status);
      }
      break;
    case ControlKind::frequency:
      if (stopped_ && message.code != 0) {
        break;  // sent before its rank was stopped: it would stay low until the job goes on
      }
      if (const std::string problem =
              job_.frequencies.request(job_.runner_of(rank, message.worker), message.code != 0);
          !problem.empty()) {
        mention(problem);
      }
      break;
    case ControlKind::killed:
      if (!ending_.begun()) {
        const std::string line =
            fmt::format("{} was killed by {}", name(rank), signal_text(message.code));
        ending_.begin(128 + message.code, {});
        mention(line + readable_crash(text, most_naming_seconds));
      }
      break;
    case ControlKind::crashed:
      process.crash_signal = message.code;
      process.crash = text;
      if (job_.of_tasks && !ending_.begun()) {  // it waits, for the launcher to be told first
        judge(rank, W_EXITCODE(0, process.crash_signal));
        let_task_end(rank, 128 + process.crash_signal);
      }
      break;
    case ControlKind::deadlock: {
      std::string_view hint = text;
      const std::string_view what = take_line(hint);
      tell_of_deadlock(rank, what, job_report(job_, starter_.segments()), hint, message.code == 0);
      break;
    }
    case ControlKind::still:
      look_over_nodes();
      break;
    case ControlKind::unreachable:
      tell_unreachable(message.code, name(rank) + '\n' + std::string(text));
      break;
  }
}

namespace {

/// By its PMIx server, whose client our program of the tasks can be.
void ask_to_end(const Job& job, int status) {
  const std::string program = prefix() + "/libexec/meantime/meantime-wire-up";
  std::string words[] = {"meantime-wire-up", std::string(asks_for_end), fmt::to_string(status),
                         fmt::to_string(job.launcher_pid)};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const pid_t child = fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execv(job.of_tasks ? "/proc/self/exe" : program.c_str(), arguments);
    _exit(1);
  }
  constexpr int patience_ms = 2000;
  const int process = child > 0 ? watch_process(child) : -1;
  pollfd over{process, POLLIN, 0};
  if (process >= 0 && poll(&over, 1, patience_ms) == 0) {
    kill(child, SIGKILL);
  }
  if (process >= 0) {
    close(process);
  }
  if (child > 0) {
    waitpid(child, nullptr, 0);
  }
}

}  // namespace

/// It may not by itself, and others wait on other nodes.
void Supervisor::ask_launcher_to_end(int status) {
  if (!std::exchange(asked_launcher_, true)) {
    ask_to_end(job_, status);
  }
}

/// It has told what ends the job, and goes first, with the exit status for that: launchers go by
/// whose end they hear of first.
void Supervisor::let_task_end(int rank, int status) {
  constexpr int patience_ms = 100;
  constexpr timespec until_heard_of{0, 50'000'000};
  RankProcess& process = job_.ranks[rank];
  if (job_.of_tasks && job_.has_other_nodes()) {
    ask_launcher_to_end(status);
  }
  if (job_.of_tasks && process.control >= 0) {
    shutdown(process.control, SHUT_RDWR);
    pollfd gone{process.mpi_process, POLLIN, 0};
    if (poll(&gone, 1, patience_ms) > 0) {
      nanosleep(&until_heard_of, nullptr);
    }
  }
}

// As long as the ranks are there.
void Supervisor::tell_of_deadlock(int rank, std::string_view what, std::string_view list,
                                  std::string_view hint, bool for_ever) {
  if (ending_.begun()) {
    return;
  }
  const std::string report = fmt::format("{}\n{}\n{}", what, list, hint);
  const bool ends = for_ever && job_.command.on_deadlock == DeadlockAction::abort;
  if (ends && !job_.of_tasks) {
    ending_.begin(deadlock_status, {});
  }
  write_while_read(STDERR_FILENO, as_shown(report));
  mention(!ends           ? "the job goes on"
          : job_.of_tasks ? "the job is ended (MEANTIME_ON_DEADLOCK=report lets it go on)"
                          : "the job is ended (--on-deadlock=report lets it go on)");
  if (ends) {
    let_task_end(rank, deadlock_status);
    ending_.begin(deadlock_status, {});
  }
}

// MPICH and its relatives greet their launcher through PMI_FD, which is the control socket: this
// process did not load our library. It waits for an answer now, so its memory map can be read.
void Supervisor::on_foreign_message(int rank) {
  const pid_t sender = channel_.sender > 0 ? channel_.sender : job_.ranks[rank].pid;
  std::string library = loaded_mpi_library(sender);
  ending_.begin(1, fmt::format("{} loaded another MPI library{}{}, not Meantime's; rebuild it with "
                               "Meantime's mpicc",
                               name(rank), library.empty() ? "" : ": ", library));
}

}  // namespace meantime::launch
