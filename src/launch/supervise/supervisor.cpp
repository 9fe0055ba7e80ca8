#include "launch/supervise/supervisor.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "launch/inspect/process_info.h"
#include "launch/inspect/report.h"
#include "launch/messages.h"
#include "launch/report/guest_report.h"
#include "launch/report/job_figures.h"
#include "launch/report/ledger_report.h"
#include "launch/report/report_files.h"
#include "launch/supervise/cpu_time.h"
#include "launch/supervise/supervisor_parts.h"
#include "machine/busy_time.h"
#include "settings/shown.h"

namespace meantime::launch {

namespace {

/// When ranks that are not in MPI are looked at first.
constexpr double first_library_look = 0.02;

/// How long a job that was ended waits for those who read its labelled output.
constexpr int reading_ms = 500;

}  // namespace

int Supervisor::run() {
  if (!prepare() || !meet_other_nodes() || !start_input() || !start_ranks() || !start_members()) {
    ending_.kill_all();
    others_.tell(LinkKind::end, ending_.status());
    leave_other_nodes();
    remove_empty_reports(job_);
    return ending_.status();
  }
  while (!all_gone()) {
    wait_for_event();
    tell_of_the_end();
    report_if_all_stay();
  }
  ending_.undo_changes();
  finish_output();
  report_ledger(false);
  say_last_state();
  leave_other_nodes();
  return ending_.status();
}

// --- starting

bool Supervisor::prepare() {
  sigset_t signals = supervised_signals();
  sigaddset(&signals, relayed_signal());
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  events_ = epoll_create1(EPOLL_CLOEXEC);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (events_ < 0 || signals_ < 0) {
    return cannot_start(fmt::format("cannot start: {}", std::strerror(errno)));
  }
  watch(signals_, Source::signals);
  watch(time_limit_.descriptor(), Source::time_limit);
  watch(energy_look_.descriptor(), Source::energy_look);
  watch(trials_.timer().descriptor(), Source::guest_trials);
  watch(freeze_.timer().descriptor(), Source::guest_freeze);
  watch(library_look_.descriptor(), Source::library_look);
  if (job_.has_other_nodes() || job_.nodes > 1) {
    watch(still_look_.descriptor(), Source::still_look);
  }
  watch(ending_.grace().descriptor(), Source::grace);
  if (job_.launcher >= 0) {
    watch(job_.launcher, Source::launcher);
  }
  if (std::string problem = starter_.prepare(); !problem.empty()) {
    return cannot_start(problem);
  }
  if (std::string problem = guests_.start_keeper(); !problem.empty()) {
    return cannot_start(problem);
  }
  if (guests_.control() >= 0) {
    watch(guests_.control(), Source::guests);
    watch(guests_.late().descriptor(), Source::guests_late);
  }
  for (const int file : job_.report_files) {
    if (ftruncate(file, 0) != 0) {
      continue;  // a pipe or a device
    }
  }
  return true;
}

bool Supervisor::front_is_gone() const {
  return !job_.of_tasks && getppid() != front_;
}

bool Supervisor::killed_meanwhile() {
  ending_.note(128 + SIGKILL);
  return false;
}

bool Supervisor::start_ranks() {
  began_ = now_seconds();
  if (job_.command.reports()) {
    busy_at_start_ = busy_seconds();
    energy_.emplace(job_.machine_root);
    energy_look_.set(machine::EnergyMeter::look_every_seconds);
  }
  const int all = static_cast<int>(job_.ranks.size());
  for (int rank = 0; rank < all;) {
    if (job_.ranks[rank].elsewhere) {
      ++rank;
      continue;
    }
    early_.look(rank, front_);
    others_.beat_if_due();
    const int host = job_.ranks[rank].host;
    if (!(host >= 0 ? start_host(host) : start_process(rank))) {
      return false;
    }
    rank += host >= 0 ? job_.hosts[host].ranks : 1;
    if (front_is_gone()) {
      return killed_meanwhile();
    }
  }
  leave_the_process_group();
  // The signal about it may be one of those that were looked at early; from now on it stays to be
  // read. Whoever has got it finds another parent: the kernel changes that first.
  if (front_is_gone()) {
    return killed_meanwhile();
  }
  starter_.forward_output();
  output_done_ = starter_.output_done() < 0;
  if (!output_done_) {
    watch(starter_.output_done(), Source::output);
  }
  if (!job_.starts_members) {  // each member has one, and knows what its ranks do
    time_limit_.set(job_.command.timeout_seconds);
  }
  library_look_.set(first_library_look);
  return true;
}

// An interpreter may load another MPI's library, which takes its process for a job of one rank, and
// nobody hears of that: so its memory map is looked at as long as it is not in MPI. Each time when
// the job is a tenth older: what is loaded is seen unless it is in use for less, at a cost that
// does not grow with the job.
void Supervisor::look_at_libraries() {
  bool again = false;
  for (RankProcess& process : job_.ranks) {
    if (process.host < 0 && !process.ended && process.phase == MpiPhase::outside &&
        process.other_library.empty() && !job_.programs[process.program].inspection.uses_mpi) {
      process.other_library = loaded_file(process.pid, is_other_mpi);
      again = again || process.other_library.empty();
    }
  }
  library_look_.set(again ? std::max(first_library_look, (now_seconds() - began_) / 10) : 0);
}

// The ranks are in mpiexec's process group, where the terminal's keys reach them; from now on what
// is sent to that group reaches us through the front only. A group of our own in the same session
// would not do: in a session without a terminal's shell (CI, a batch job) the end of the last rank,
// whose parent is in another group, makes the kernel send SIGHUP to mpiexec's whole group, the
// user's script with it, if any process in it is stopped (setpgid(2), orphaned process groups).
void Supervisor::leave_the_process_group() {
  if (job_.of_tasks) {
    return;  // it never was in one
  }
  setsid();
  early_.look(static_cast<int>(job_.ranks.size()), front_);
  // The kernel sends to a group while it holds the lock that setsid takes: what has come to us by
  // the group has come to the front too.
  if (early_.untold() != 0 && getppid() == front_) {
    kill(front_, relayed_signal());
  }
}

bool Supervisor::start_host(int number) {
  if (std::string problem = starter_.start_host(number); !problem.empty()) {
    return cannot_start(problem);
  }
  const ThreadHost& host = job_.hosts[number];
  watch(host.control, Source::host_control, number);
  ++running_;
  for (int rank = host.first_rank; rank < host.first_rank + host.ranks; ++rank) {
    job_.ranks[rank].mpi_pid = host.pid;
  }
  return true;
}

bool Supervisor::start_process(int rank) {
  if (std::string problem = job_.of_tasks ? starter_.welcome_task(rank) : starter_.start_rank(rank);
      !problem.empty()) {
    return cannot_start(problem);
  }
  if (job_.of_tasks) {
    watch(job_.ranks[rank].mpi_process, Source::mpi_process, rank);
  }
  watch(job_.ranks[rank].control, Source::control, rank);
  ++running_;
  return true;
}

bool Supervisor::cannot_start(const std::string& line) {
  mention(line);
  ending_.note(1);
  return false;
}

void Supervisor::watch(int descriptor, Source source, int number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint32_t>(number);
  epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event);
}

// --- events

void Supervisor::wait_for_event() {
  epoll_event events[64];
  const int count = epoll_wait(events_, events, 64, -1);
  if (count < 0 && errno != EINTR) {
    say("cannot wait for the ranks: epoll_wait: {}", std::strerror(errno));
    ending_.begin_with_kill(1);
    return;
  }
  for (int i = 0; i < count; ++i) {
    auto source = static_cast<Source>(events[i].data.u64 >> 32);
    int number = static_cast<int>(events[i].data.u64 & 0xffffffff);
    switch (source) {
      case Source::signals:
        on_signals();
        break;
      case Source::control:
        on_control(number);
        break;
      case Source::host_control:
        on_host_control(number);
        break;
      case Source::mpi_process:
        on_mpi_process_gone(number);
        break;
      case Source::launcher:
        ending_.begin_with_kill(128 + SIGKILL);
        running_ = 0;
        mention("the launcher has ended");
        break;
      case Source::guests:
        hear_guests();
        break;
      case Source::guest_trials:
        trials_.on_timer();
        break;
      case Source::guest_freeze:
        freeze_.on_timer();
        break;
      case Source::guests_late:
        ending_.kill_all();
        hear_guests();
        break;
      case Source::output:
        epoll_ctl(events_, EPOLL_CTL_DEL, starter_.output_done(), nullptr);
        output_done_ = true;
        break;
      case Source::energy_look:
        energy_->look();
        energy_look_.set(machine::EnergyMeter::look_every_seconds);
        break;
      case Source::library_look:
        look_at_libraries();
        break;
      case Source::other_nodes:
        on_other_nodes();
        break;
      case Source::members_late:
        on_members_late();
        break;
      case Source::list_limit:
        tell_list();
        break;
      case Source::unreachable:
        on_unreachable();
        break;
      case Source::still_look:
        look_over_nodes();
        break;
      case Source::grace:
        ending_.kill_all();
        running_ = 0;
        break;
      case Source::time_limit:
        time_limit_.set(0);
        if (!ending_.begun()) {
          ending_.begin(timeout_status, fmt::format("the time limit of {} s is over:\n{}",
                                                    job_.command.timeout_seconds,
                                                    job_report(job_, starter_.segments())));
        }
        break;
    }
  }
}

void Supervisor::on_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD) {
      hear_all();
    }
    on_signal(info);
  }
}

void Supervisor::on_signal(const signalfd_siginfo& info) {
  if (static_cast<int>(info.ssi_signo) == SIGCONT && static_cast<pid_t>(info.ssi_pid) == front_ &&
      getppid() == front_) {
    return;  // it has made this process go on, and that is all
  }
  Relayed relayed{static_cast<int>(info.ssi_signo), false};
  int ranks_with_it = 0;
  if (relayed.signal == relayed_signal()) {
    relayed = relayed_from(info.ssi_int);
    if (relayed.signal == told_all.signal) {
      while (const int signal = early_.untold()) {  // sent to this process alone
        early_.first_without(signal);
        act_on(signal, 0);
      }
      return;
    }
    const int all = static_cast<int>(job_.ranks.size());
    ranks_with_it = early_.first_without(relayed.signal).value_or(relayed.ranks_have_it ? all : 0);
  }
  act_on(relayed.signal, ranks_with_it);
}

void Supervisor::act_on(int signal, int ranks_with_it) {
  if (signal == SIGTSTP) {
    job_.frequencies.restore();  // stopped ranks are no reason to slow whoever comes now
    ignore_waits();
    stopped_ = true;
    guests_.stop();
  } else if (signal == SIGCONT) {
    guests_.go_on();
    if (std::exchange(stopped_, false) && inside_ == job_.ranks_here() && !guests_.told_to_end()) {
      look_at_waits();
    }
  }
  if (signal == SIGCHLD) {
    reap();
  } else if (signal == front_is_gone_signal() && front_is_gone()) {
    // SIGKILL for mpiexec means SIGKILL for the job.
    ending_.begin_with_kill(128 + SIGKILL);
    remove_empty_reports(job_);
    _exit(ending_.status());
  } else if (job_.starts_members) {
    if (!relay_.pass_on(signal, 0)) {  // for the second time
      ending_.begin_with_kill(128 + signal);
      running_ = 0;
    }
    others_.tell(LinkKind::signal, signal);
    hold_for_those_to_come(signal);
  } else if (signal == SIGQUIT) {
    mention("what each rank does:\n{}", job_report(job_, starter_.segments()));
  } else if (job_.of_tasks) {
    // Their launcher signals them itself.
  } else if (waiting_for_readers_ && ends_a_process(signal)) {
    ending_.begin(128 + signal, {});
  } else if (!relay_.pass_on(signal, ranks_with_it)) {
    ending_.begin_with_kill(128 + signal);
    running_ = 0;
  }
}

// Labelled output whose reader takes its time keeps mpiexec until it is out, unless the job was
// ended or mpiexec is told to end now.
void Supervisor::finish_output() {
  waiting_for_readers_ = true;
  while (!output_done_ && !ending_.begun()) {
    wait_for_event();
  }
  pollfd done{starter_.output_done(), POLLIN, 0};
  if (!output_done_ && poll(&done, 1, reading_ms) == 0) {
    report_ledger(false);
    _exit(ending_.status());  // the thread that writes is stuck
  }
  if (const int error = starter_.finish_output(); error != 0) {
    mention("output of the ranks was lost: {}", std::strerror(error));
    ending_.note(1);
  }
}

int supervise(Job& job, pid_t front) {
  return Supervisor(job, front).run();
}

}  // namespace meantime::launch
