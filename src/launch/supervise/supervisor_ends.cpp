#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "launch/inspect/crash_report.h"
#include "launch/inspect/process_info.h"
#include "launch/inspect/report.h"
#include "launch/messages.h"
#include "launch/report/guest_report.h"
#include "launch/report/job_figures.h"
#include "launch/supervise/cpu_time.h"
#include "launch/supervise/ended_process.h"
#include "launch/supervise/supervisor_parts.h"
#include "machine/process_stat.h"
#include "node/segment.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// How long a signal is waited for that the front may have got, while it waits for a CPU.
constexpr double busy_front_seconds = 5;

/// What a rank that is in MPI had to call before its end.
const char* last_call_of(const RankProcess& process) {
  return process.sessions_only ? "MPI_Session_finalize" : "MPI_Finalize";
}

/// One that has closed its socket, with all descriptors, leaves word in the segment alone.
bool has_finalized(const RankProcess& process, int segment, int rank) {
  return process.phase == MpiPhase::finalized ||
         (process.phase == MpiPhase::inside && node::has_left(segment, rank));
}

/// How long a script is waited for to take note of its program's end, or to end itself.
constexpr double script_seconds = 0.3;
/// Shells end with so much and a signal's number for a program that was killed by it.
constexpr int shell_signals = 128;

/// How the program of a rank that a script has started ended. The kernel tells once the script has
/// been told; one before 6.15 does not, and then the script's own end says as much.
std::optional<int> wait_status_soon(const RankProcess& process) {
  const double until = now_seconds() + script_seconds;
  for (;;) {
    if (std::optional<int> wait_status = wait_status_of(process.mpi_process)) {
      return wait_status;
    }
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == process.pid) {
      const int code = info.si_status;
      return info.si_code != CLD_EXITED ? W_EXITCODE(0, code)
             : code > shell_signals     ? W_EXITCODE(0, code - shell_signals)
                                        : W_EXITCODE(code, 0);
    }
    if (now_seconds() > until) {
      return std::nullopt;
    }
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

// A key of the terminal, or a signal to the process group (as timeout(1) sends it), reaches ranks
// and mpiexec at once. If a rank's end is heard of first, the news of the signal is just behind; on
// a busy machine as far behind as the front is from getting a CPU.
bool Supervisor::asked_for(int signal) {
  if (job_.of_tasks) {  // their launcher ends them by these, and says so
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           (signal == SIGKILL && all_tasks_are_gone());
  }
  const sigset_t supervised = supervised_signals();
  const double began = now_seconds();
  const auto may_come = [&] {
    const double waited = now_seconds() - began;
    return waited < same_signal_seconds ||
           (waited < busy_front_seconds && machine::process_stat(front_).state == 'R');
  };
  while (sigismember(&supervised, signal) == 1 && !relay_.passed_on(signal) && may_come()) {
    pollfd news{signals_, POLLIN, 0};
    poll(&news, 1, 10);
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != SIGCHLD) {  // we are asked while reaping
        on_signal(info);
      }
    }
  }
  return relay_.passed_on(signal);
}

void Supervisor::reap() {
  int wait_status = 0;
  rusage used{};
  for (pid_t pid = 0; (pid = wait4(-1, &wait_status, WNOHANG, &used)) > 0;) {
    note_cpu_time(job_, pid, used);
    guests_.note_end(pid, used);
    if (on_shell_ended(pid, wait_status)) {
      continue;
    }
    auto host = std::find_if(job_.hosts.begin(), job_.hosts.end(),
                             [&](const ThreadHost& one) { return one.pid == pid; });
    if (host != job_.hosts.end() && !host->ended) {
      const int number = static_cast<int>(host - job_.hosts.begin());
      on_host_control(number);
      on_host_ended(number, wait_status);
      continue;
    }
    auto rank = std::find_if(job_.ranks.begin(), job_.ranks.end(),
                             [&](const RankProcess& process) { return process.pid == pid; });
    if (rank != job_.ranks.end() && !rank->ended) {
      int number = static_cast<int>(rank - job_.ranks.begin());
      on_control(number);  // what it said last comes before its end
      on_rank_ended(number, wait_status);
    }
  }
}

void Supervisor::on_rank_ended(int rank, int wait_status) {
  RankProcess& process = job_.ranks[rank];
  process.ended = true;
  process.wait_status = wait_status;
  job_.frequencies.request(rank, false);
  --running_;
  if (ending_.begun()) {
    return;
  }
  if (std::optional<Starter::Failure> failure = starter_.failed_start(rank)) {
    ending_.begin(failure->status, failure->line);
    return;
  }
  judge(rank, wait_status);
}

// What its ranks did they have told. It is an error of its own if one of them has not.
void Supervisor::on_host_ended(int number, int wait_status) {
  ThreadHost& host = job_.hosts[number];
  host.ended = true;
  for (int worker = host.first_worker; worker < host.first_worker + host.workers; ++worker) {
    job_.frequencies.request(job_.runner_of(host.first_rank, worker), false);
  }
  --running_;
  if (ending_.begun()) {
    return;
  }
  if (std::optional<Starter::Failure> failure = starter_.failed_start(host.first_rank)) {
    ending_.begin(failure->status, failure->line);
    return;
  }
  const auto first = job_.ranks.begin() + host.first_rank;
  const bool all_told =
      std::all_of(first, first + host.ranks, [](const RankProcess& rank) { return rank.ended; });
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    ending_.begin(128 + signal,
                  asked_for(signal)
                      ? std::string()
                      : fmt::format("the process of {} (pid {} on {}) {}{}{}",
                                    host.ranks == static_cast<int>(job_.ranks.size()) ? "all ranks"
                                                                                      : host.text(),
                                    host.pid, host_name(), killed_by(signal),
                                    WCOREDUMP(wait_status) ? ", core dumped" : "",
                                    !job_.guest_function.empty() && ended_in_guest_work(figures_in(
                                                                        job_, starter_.segments()))
                                        ? ", in guest work"
                                        : ""));
  } else if (!all_told) {
    // If it could not start its ranks it has said why.
    const int code = WEXITSTATUS(wait_status);
    const bool by_guest =
        !job_.guest_function.empty() && ended_in_guest_work(figures_in(job_, starter_.segments()));
    ending_.begin(code == 0 ? 1 : code,
                  by_guest
                      ? fmt::format("the guest function has ended the process of {} (pid {} on "
                                    "{}) with status {}",
                                    host.text(), host.pid, host_name(), code)
                      : std::string());
  } else {
    ending_.note(WEXITSTATUS(wait_status));  // ThreadSanitizer tells its reports so
  }
}

std::string Supervisor::killed_by(int signal) const {
  const bool for_memory =
      signal == SIGKILL && machine::out_of_memory_kills() > out_of_memory_kills_;
  return "was killed by " + signal_text(signal) +
         (for_memory ? fmt::format(", for want of memory (there are {} MiB for all)",
                                   machine::usable_memory() >> 20)
                     : "");
}

namespace {

/// A rank has, and could not say so: the program has closed its line to mpiexec.
bool found_deadlock(int descriptor) {
  node::Segment segment;
  if (descriptor < 0 || segment.map(descriptor) != 0) {
    return false;
  }
  const bool found = segment.header().ending.load(std::memory_order_acquire) == 1;
  segment.unmap();
  return found;
}

}  // namespace

/// Launchers lose what is written once they have heard of an end, and go by the first that they
/// hear of: so of a task it is said first, then nothing is done for a moment.
void Supervisor::end_job(int rank, int status, const std::string& line) {
  if (job_.of_tasks && !ending_.begun()) {
    mention(line);
    let_task_end(rank, status);
    ending_.begin(status, {});
  } else {
    ending_.begin(status, line);
  }
}

bool Supervisor::all_tasks_are_gone() const {
  return job_.of_tasks &&
         std::all_of(job_.ranks.begin(), job_.ranks.end(), [](const RankProcess& rank) {
           pollfd gone{rank.mpi_process, POLLIN, 0};
           return rank.ended || poll(&gone, 1, 0) > 0;
         });
}

void Supervisor::judge(int rank, int wait_status) {
  const RankProcess& process = job_.ranks[rank];
  const bool finalized = has_finalized(process, starter_.segment_of(rank), rank);
  if (finalized) {
    node::note_end(starter_.segment_of(rank), rank);
  }
  if (WIFSIGNALED(wait_status)) {
    int signal = WTERMSIG(wait_status);
    const auto tell = [&](std::string_view when) {
      std::string where = signal == process.crash_signal
                              ? readable_crash(process.crash, most_naming_seconds)
                              : std::string();
      if (WCOREDUMP(wait_status)) {
        where.insert(std::min(where.find('\n'), where.size()), ", core dumped");
      }
      mention("{} {}{}{}", name(rank), killed_by(signal), when, where);
    };
    if (asked_for(signal)) {
      ending_.begin(128 + signal, {});
    } else if (finalized) {
      if (!died_late_) {  // `| head` ends all of them
        tell(" after MPI_Finalize");
      }
      died_late_ = true;
      ending_.note(128 + signal);
    } else if (job_.of_tasks) {
      tell("");
      let_task_end(rank, 128 + signal);
      ending_.begin(128 + signal, {});
    } else {
      ending_.begin(128 + signal, {});
      tell("");
    }
    return;
  }
  int code = WEXITSTATUS(wait_status);
  ending_.note(code);
  if (finalized) {
    return;
  }
  if (process.phase == MpiPhase::inside) {
    if (code == deadlock_status && job_.command.on_deadlock == DeadlockAction::abort &&
        found_deadlock(starter_.segment_of(rank))) {
      tell_of_deadlock(rank, fmt::format("Meantime: {}:", deadlock_found),
                       job_report(job_, starter_.segments()), {}, true);
    }
    end_job(
        rank, code == 0 ? 1 : code,
        fmt::format("{} ended with status {} without {}", name(rank), code, last_call_of(process)));
  } else if (!process.other_library.empty()) {
    ending_.begin(code == 0 ? 1 : code,
                  fmt::format("{} loaded another MPI library, {}, and ended as a job of its own; "
                              "rebuild what uses it with Meantime's mpicc (mpi4py: pip install "
                              "--no-cache-dir --force-reinstall --no-binary mpi4py mpi4py)",
                              name(rank), settings::shown_path(process.other_library)));
  } else if (code != 0 && job_.programs[process.program].inspection.uses_mpi) {
    ending_.begin(code, fmt::format("{} ended with status {} before MPI_Init", name(rank), code));
  } else {
    if (std::exchange(silent_, silent_ < 0 ? rank : silent_) < 0) {
      others_.tell(LinkKind::silent, code, name(rank));
    }
    check_for_stragglers();
  }
}

// A rank started through a script: the script may live on when its program has died.
void Supervisor::on_mpi_process_gone(int rank) {
  on_control(rank);
  RankProcess& process = job_.ranks[rank];
  if (has_finalized(process, starter_.segment_of(rank), rank)) {
    process.phase = MpiPhase::finalized;
    node::note_end(starter_.segment_of(rank), rank);
  } else if (process.phase == MpiPhase::inside && !process.ended && !ending_.begun()) {
    if (process.crash_signal != 0) {
      judge(rank, W_EXITCODE(0, process.crash_signal));
    } else if (std::optional<int> wait_status = wait_status_soon(process)) {
      judge(rank, *wait_status);
    } else if (all_tasks_are_gone()) {
      ending_.begin(1, {});  // the launcher has ended them
    } else {
      end_job(rank, 1, fmt::format("{} ended without {}", name(rank), last_call_of(process)));
    }
  }
  if (job_.of_tasks && !process.ended) {
    if (process.phase == MpiPhase::outside && !ending_.begun()) {
      ending_.begin(1, fmt::format("{} ended in MPI_Init", name(rank)));
    }
    process.ended = true;
    --running_;
  }
  close(process.mpi_process);
  process.mpi_process = -1;
  reap();  // judging may have read the news about a child without acting on it
}

// Ranks that are in MPI would wait for ever for one that has ended without getting there. A job
// of which no rank calls MPI_Init is not MPI's business: its ranks end as they like.
void Supervisor::check_for_stragglers() {
  const bool is_here = silent_ >= 0;
  if ((!is_here && silent_elsewhere_.empty()) || inside_ == 0 || ending_.begun()) {
    return;
  }
  const int wait_status = is_here ? job_.ranks[silent_].wait_status : 0;
  const int code = !is_here                 ? silent_status_
                   : WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                            : 1;
  ending_.begin(code == 0 ? 1 : code,
                fmt::format("{} ended with status {} before MPI_Init, others wait "
                            "for it",
                            is_here ? name(silent_) : silent_elsewhere_, code));
}

// True once nothing of the job is left. When the ranks are through but have left processes behind,
// these are ended first.
bool Supervisor::all_gone() {
  if (running_ > 0 || !members_are_over()) {
    return false;
  }
  end_input();
  if (guests_.control() >= 0) {
    ended_ = ended_ == 0 ? now_seconds() : ended_;
    ignore_waits();
    guests_.end();
    return false;
  }
  reap();
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) {
    return true;
  }
  if (!ending_.begun() && !clearing_up_ && !guests_.running()) {
    clearing_up_ = true;
    ending_.ask();
  }
  return false;
}

std::string Supervisor::name(int rank) const {
  const RankProcess& process = job_.ranks[rank];
  return fmt::format("rank {} (pid {} on {})", rank,
                     process.mpi_pid > 0 ? process.mpi_pid : process.pid, host_name());
}

}  // namespace meantime::launch
