#include "launch/supervisor.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/version.h"
#include "launch/control_channel.h"
#include "launch/cpu_time.h"
#include "launch/demangle.h"
#include "launch/early_signals.h"
#include "launch/ended_process.h"
#include "launch/ending.h"
#include "launch/ledger_report.h"
#include "launch/messages.h"
#include "launch/named_places.h"
#include "launch/process_info.h"
#include "launch/relay.h"
#include "launch/report.h"
#include "launch/starter.h"
#include "launch/timer.h"
#include "machine/energy_meter.h"

namespace meantime::launch {

namespace {

constexpr int timeout_status = 124;

/// Of a deadlock report; what a rank sends beyond it is dropped. Of the most ranks it takes 10 MB.
constexpr std::size_t longest_report = 32 << 20;

/// How long a job that was ended waits for those who read its labelled output.
constexpr int reading_ms = 500;

/// How long a signal is waited for that the front may have got, while it waits for a CPU.
constexpr double busy_front_seconds = 5;

/// What an epoll event is about: the high half of its data; the low half is a rank.
enum class Source : std::uint32_t {
  signals,
  time_limit,
  energy_look,
  grace,
  control,
  host_control,
  mpi_process,
  output
};

class Supervisor {
 public:
  explicit Supervisor(Job& job) : job_(job), starter_(job), relay_(job), ending_(job) {}

  int run() {
    if (!prepare() || !start_ranks()) {
      ending_.kill_all();
      return ending_.status();
    }
    while (!all_gone()) {
      wait_for_event();
    }
    ending_.undo_changes();
    finish_output();
    report_ledger();
    return ending_.status();
  }

 private:
  // Starting.
  bool prepare();
  bool start_ranks();
  bool start_processes();
  bool start_host();
  void leave_the_process_group();
  bool cannot_start(const std::string& line);
  void watch(int descriptor, Source source, int rank = 0);

  // Events.
  void wait_for_event();
  void on_signals();
  void on_signal(const signalfd_siginfo& info);
  bool asked_for(int signal);
  void reap();
  void on_control(int rank);
  void on_host_control();
  void hear_all();
  void on_message(int rank, const ControlMessage& message, std::string_view text);
  void on_foreign_message(int rank);
  void on_rank_ended(int rank, int wait_status);
  void on_host_ended(int wait_status);
  void judge(int rank, int wait_status);
  void on_mpi_process_gone(int rank);
  void check_for_stragglers();

  bool all_gone();
  void finish_output();
  void report_ledger();
  [[nodiscard]] std::string name(int rank) const;

  Job& job_;
  const pid_t front_ = getppid();
  Starter starter_;
  Relay relay_;
  EarlySignals early_;
  Ending ending_;
  Timer time_limit_;
  ControlChannel channel_;
  int running_ = 0;  ///< started processes that have not ended
  int inside_ = 0;   ///< ranks that have called MPI_Init
  int silent_ = -1;  ///< a rank that ended without ever calling MPI_Init

  bool stopped_ = false;              ///< by SIGTSTP, until SIGCONT
  bool died_late_ = false;            ///< a signal has killed a rank after MPI_Finalize
  bool clearing_up_ = false;          ///< the ranks are through, what they left is being ended
  bool waiting_for_readers_ = false;  ///< all processes are gone, labelled output is not
  bool output_done_ = false;

  double began_ = 0;                            ///< when the first rank was started
  std::optional<machine::EnergyMeter> energy_;  ///< if a report is wanted
  Timer energy_look_;

  int events_ = -1;
  int signals_ = -1;
};

// --- starting

bool Supervisor::prepare() {
  sigset_t signals = supervised_signals();
  sigaddset(&signals, front_is_gone_signal());
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
  watch(ending_.grace().descriptor(), Source::grace);
  if (std::string problem = starter_.prepare(); !problem.empty()) {
    return cannot_start(problem);
  }
  return true;
}

bool Supervisor::start_ranks() {
  began_ = seconds_now();
  if (job_.command.report) {
    energy_.emplace(job_.machine_root);
    energy_look_.set(machine::EnergyMeter::look_every_seconds);
  }
  if (!(job_.thread_ranks ? start_host() : start_processes())) {
    return false;
  }
  leave_the_process_group();
  starter_.forward_output();
  output_done_ = starter_.output_done() < 0;
  if (!output_done_) {
    watch(starter_.output_done(), Source::output);
  }
  time_limit_.set(job_.command.timeout_seconds);
  return true;
}

// The ranks are in mpiexec's process group, where the terminal's keys reach them; from now on what
// is sent to that group reaches us through the front only. A group of our own in the same session
// would not do: in a session without a terminal's shell (CI, a batch job) the end of the last rank,
// whose parent is in another group, makes the kernel send SIGHUP to mpiexec's whole group, the
// user's script with it, if any process in it is stopped (setpgid(2), orphaned process groups).
void Supervisor::leave_the_process_group() {
  setsid();
  early_.look(static_cast<int>(job_.ranks.size()));
}

bool Supervisor::start_host() {
  early_.look(0);
  if (std::string problem = starter_.start_host(); !problem.empty()) {
    return cannot_start(problem);
  }
  watch(job_.host.control, Source::host_control);
  ++running_;
  auto rank = job_.ranks.begin();
  for (std::size_t i = 0; i < job_.programs.size(); ++i) {
    for (int k = 0; k < job_.programs[i].request.ranks; ++k, ++rank) {
      rank->program = static_cast<int>(i);
      rank->mpi_pid = job_.host.pid;
    }
  }
  return true;
}

bool Supervisor::start_processes() {
  int rank = 0;
  for (std::size_t i = 0; i < job_.programs.size(); ++i) {
    for (int k = 0; k < job_.programs[i].request.ranks; ++k, ++rank) {
      job_.ranks[rank].program = static_cast<int>(i);
      early_.look(rank);
      if (std::string problem = starter_.start_rank(rank); !problem.empty()) {
        return cannot_start(problem);
      }
      watch(job_.ranks[rank].control, Source::control, rank);
      ++running_;
      if (getppid() != front_) {  // killed meanwhile; the signal about it waits to be read
        ending_.note(128 + SIGKILL);
        return false;
      }
    }
  }
  return true;
}

bool Supervisor::cannot_start(const std::string& line) {
  mention(line);
  ending_.note(1);
  return false;
}

void Supervisor::watch(int descriptor, Source source, int rank) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint32_t>(rank);
  epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event);
}

// --- events

void Supervisor::wait_for_event() {
  epoll_event events[64];
  int count = epoll_wait(events_, events, 64, -1);
  for (int i = 0; i < count; ++i) {
    auto source = static_cast<Source>(events[i].data.u64 >> 32);
    int rank = static_cast<int>(events[i].data.u64 & 0xffffffff);
    switch (source) {
      case Source::signals:
        on_signals();
        break;
      case Source::control:
        on_control(rank);
        break;
      case Source::host_control:
        on_host_control();
        break;
      case Source::mpi_process:
        on_mpi_process_gone(rank);
        break;
      case Source::output:
        epoll_ctl(events_, EPOLL_CTL_DEL, starter_.output_done(), nullptr);
        output_done_ = true;
        break;
      case Source::energy_look:
        energy_->look();
        energy_look_.set(machine::EnergyMeter::look_every_seconds);
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
                                                    job_report(job_, starter_.segment())));
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
  Relayed relayed{static_cast<int>(info.ssi_signo), false};
  int ranks_with_it = 0;
  if (relayed.signal == relayed_signal()) {
    relayed = relayed_from(info.ssi_int);
    const int all = static_cast<int>(job_.ranks.size());
    ranks_with_it = early_.first_without(relayed.signal).value_or(relayed.ranks_have_it ? all : 0);
  }
  if (relayed.signal == SIGTSTP) {
    job_.frequencies.restore();  // stopped ranks are no reason to slow whoever comes now
    stopped_ = true;
  } else if (relayed.signal == SIGCONT) {
    stopped_ = false;
  }
  if (relayed.signal == SIGCHLD) {
    reap();
  } else if (relayed.signal == front_is_gone_signal()) {
    // SIGKILL for mpiexec means SIGKILL for the job.
    ending_.begin_with_kill(128 + SIGKILL);
    _exit(ending_.status());
  } else if (relayed.signal == SIGQUIT) {
    mention("what each rank does:\n{}", job_report(job_, starter_.segment()));
  } else if (waiting_for_readers_ && ends_a_process(relayed.signal)) {
    ending_.begin(128 + relayed.signal, {});
  } else if (!relay_.pass_on(relayed.signal, ranks_with_it)) {
    ending_.begin_with_kill(128 + relayed.signal);
    running_ = 0;
  }
}

// A key of the terminal, or a signal to the process group (as timeout(1) sends it), reaches ranks
// and mpiexec at once. If a rank's end is heard of first, the news of the signal is just behind; on
// a busy machine as far behind as the front is from getting a CPU.
bool Supervisor::asked_for(int signal) {
  const sigset_t supervised = supervised_signals();
  const double began = seconds_now();
  const auto may_come = [&] {
    const double waited = seconds_now() - began;
    return waited < same_signal_seconds ||
           (waited < busy_front_seconds && process_stat(front_).state == 'R');
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
    if (pid == job_.host.pid && !job_.host.ended) {
      on_host_control();
      on_host_ended(wait_status);
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

void Supervisor::on_control(int rank) {
  RankProcess& process = job_.ranks[rank];
  while (process.control >= 0) {
    switch (channel_.receive(process.control)) {
      case ControlChannel::Outcome::nothing:
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

void Supervisor::on_host_control() {
  while (job_.host.control >= 0) {
    switch (channel_.receive(job_.host.control)) {
      case ControlChannel::Outcome::nothing:
        return;
      case ControlChannel::Outcome::hung_up:
      case ControlChannel::Outcome::foreign:  // nobody else has that socket
        close(job_.host.control);
        job_.host.control = -1;
        return;
      case ControlChannel::Outcome::message: {
        const int rank = channel_.message.rank;
        if (rank >= 0 && rank < static_cast<int>(job_.ranks.size())) {
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
  on_host_control();
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    on_control(rank);
  }
}

void Supervisor::on_message(int rank, const ControlMessage& message, std::string_view text) {
  RankProcess& process = job_.ranks[rank];
  switch (message.kind) {
    case ControlKind::hello:
      process.mpi_pid = channel_.sender > 0 ? channel_.sender : process.pid;
      if (message.version != control_version || text != version) {
        ending_.begin(
            1, fmt::format("{} uses Meantime {}, mpiexec is {}: use those of one installation",
                           name(rank), text, version));
      } else if (process.phase != MpiPhase::outside) {
        ending_.begin(
            1, fmt::format("{} is the second MPI program of its rank: one is all there can be",
                           name(rank)));
      } else {
        process.phase = MpiPhase::inside;
        ++inside_;
        if (process.mpi_pid != process.pid && !job_.thread_ranks) {
          process.mpi_process = watch_process(process.mpi_pid);
          if (process.mpi_process >= 0) {
            watch(process.mpi_process, Source::mpi_process, rank);
          }
        }
        check_for_stragglers();
      }
      break;
    case ControlKind::finalized:
      process.phase = MpiPhase::finalized;
      break;
    case ControlKind::abort: {
      // The exit status has eight bits; an error must not become a success by losing the others.
      int status = message.code & 0xff;
      status = status == 0 && message.code != 0 ? 1 : status;
      ending_.begin(status, text.empty() ? fmt::format("{} called MPI_Abort with code {}",
                                                       name(rank), message.code)
                                         : fmt::format("{}: {}", name(rank), text));
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
      if (const std::string problem = job_.frequencies.wish(rank, message.code != 0);
          !problem.empty()) {
        mention(problem);
      }
      break;
    case ControlKind::killed:
      ending_.begin(128 + message.code, fmt::format("{} was killed by {}{}", name(rank),
                                                    signal_text(message.code), demangled(text)));
      break;
    case ControlKind::text:
      process.text += text.substr(0, longest_report - process.text.size());
      break;
    case ControlKind::deadlock: {
      process.text += text.substr(0, longest_report - process.text.size());
      if (!process.text.ends_with('\n')) {
        process.text += '\n';
      }
      const bool worth_saying = !ending_.begun();
      if (worth_saying) {
        process.text = with_named_places(process.text);  // as long as the ranks are there
      }
      if (job_.command.on_deadlock == DeadlockAction::abort) {
        ending_.begin(deadlock_status, {});
      }
      if (worth_saying) {
        process.text += job_.command.on_deadlock == DeadlockAction::abort
                            ? "mpiexec: the job is ended (--on-deadlock=report lets it go on)\n"
                            : "mpiexec: the job goes on\n";
        write_while_read(STDERR_FILENO, process.text);
      }
      process.text.clear();
      break;
    }
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

void Supervisor::on_rank_ended(int rank, int wait_status) {
  RankProcess& process = job_.ranks[rank];
  process.ended = true;
  process.wait_status = wait_status;
  job_.frequencies.wish(rank, false);
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
void Supervisor::on_host_ended(int wait_status) {
  job_.host.ended = true;
  --running_;
  if (ending_.begun()) {
    return;
  }
  if (std::optional<Starter::Failure> failure = starter_.failed_start(0)) {
    ending_.begin(failure->status, failure->line);
    return;
  }
  const bool all_told = std::all_of(job_.ranks.begin(), job_.ranks.end(),
                                    [](const RankProcess& rank) { return rank.ended; });
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    ending_.begin(128 + signal,
                  asked_for(signal)
                      ? std::string()
                      : fmt::format("the process of all ranks (pid {} on {}) was killed by {}{}",
                                    job_.host.pid, host_name(), signal_text(signal),
                                    WCOREDUMP(wait_status) ? ", core dumped" : ""));
  } else if (!all_told) {
    // If it could not start its ranks it has said why.
    const int code = WEXITSTATUS(wait_status);
    ending_.begin(code == 0 ? 1 : code, {});
  }
}

void Supervisor::judge(int rank, int wait_status) {
  const RankProcess& process = job_.ranks[rank];
  const bool finalized = process.phase == MpiPhase::finalized;
  if (WIFSIGNALED(wait_status)) {
    int signal = WTERMSIG(wait_status);
    std::string line = fmt::format("{} was killed by {}{}", name(rank), signal_text(signal),
                                   WCOREDUMP(wait_status) ? ", core dumped" : "");
    if (asked_for(signal)) {
      ending_.begin(128 + signal, {});
    } else if (finalized) {
      if (!died_late_) {  // `| head` ends all of them
        mention("{} after MPI_Finalize", line);
      }
      died_late_ = true;
      ending_.note(128 + signal);
    } else {
      ending_.begin(128 + signal, line);
    }
    return;
  }
  int code = WEXITSTATUS(wait_status);
  ending_.note(code);
  if (finalized) {
    return;
  }
  if (process.phase == MpiPhase::inside) {
    ending_.begin(code == 0 ? 1 : code,
                  fmt::format("{} ended with status {} without MPI_Finalize", name(rank), code));
  } else if (code != 0 && job_.programs[process.program].inspection.uses_mpi) {
    ending_.begin(code, fmt::format("{} ended with status {} before MPI_Init", name(rank), code));
  } else {
    silent_ = silent_ < 0 ? rank : silent_;
    check_for_stragglers();
  }
}

// A rank started through a script: the script may live on when its program has died.
void Supervisor::on_mpi_process_gone(int rank) {
  on_control(rank);
  RankProcess& process = job_.ranks[rank];
  if (process.phase == MpiPhase::inside && !process.ended) {
    if (std::optional<int> wait_status = wait_status_of(process.mpi_process)) {
      judge(rank, *wait_status);
    } else {
      ending_.begin(1, fmt::format("{} ended without MPI_Finalize", name(rank)));
    }
  }
  close(process.mpi_process);
  process.mpi_process = -1;
  reap();  // judging may have read the news about a child without acting on it
}

// Ranks that are in MPI would wait for ever for one that has ended without getting there. A job
// of which no rank calls MPI_Init is not MPI's business: its ranks end as they like.
void Supervisor::check_for_stragglers() {
  if (silent_ < 0 || inside_ == 0 || ending_.begun()) {
    return;
  }
  int code =
      WIFEXITED(job_.ranks[silent_].wait_status) ? WEXITSTATUS(job_.ranks[silent_].wait_status) : 1;
  ending_.begin(code == 0 ? 1 : code,
                fmt::format("{} ended with status {} before MPI_Init, others wait "
                            "for it",
                            name(silent_), code));
}

// True once nothing of the job is left. When the ranks are through but have left processes behind,
// these are ended first.
bool Supervisor::all_gone() {
  if (running_ > 0) {
    return false;
  }
  reap();
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) {
    return true;
  }
  if (!ending_.begun() && !clearing_up_) {
    clearing_up_ = true;
    ending_.ask();
  }
  return false;
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
    _exit(ending_.status());  // the thread that writes is stuck
  }
  if (const int error = starter_.finish_output(); error != 0) {
    mention("output of the ranks was lost: {}", std::strerror(error));
    ending_.note(1);
  }
}

void Supervisor::report_ledger() {
  if (!job_.command.report) {
    return;
  }
  JobTimes times;
  times.wall_seconds = seconds_now() - began_;
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  times.cpu_seconds = cpu_seconds(used);
  times.joules = energy_->readable() ? energy_->joules() : -1;
  times.energy_source = energy_->source();
  if (job_.report_file < 0) {
    write_while_read(STDERR_FILENO, ledger_table(job_, starter_.segment(), times));
  } else if (!write_all(job_.report_file, ledger_json(job_, starter_.segment(), times))) {
    mention("--report: cannot write '{}': {}", job_.command.report_file, std::strerror(errno));
    ending_.note(1);
  }
}

std::string Supervisor::name(int rank) const {
  const RankProcess& process = job_.ranks[rank];
  return fmt::format("rank {} (pid {} on {})", rank,
                     process.mpi_pid > 0 ? process.mpi_pid : process.pid, host_name());
}

}  // namespace

int supervise(Job& job) {
  return Supervisor(job).run();
}

}  // namespace meantime::launch
