#include "launch/supervisor.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/version.h"
#include "launch/control_channel.h"
#include "launch/descendants.h"
#include "launch/ended_process.h"
#include "launch/messages.h"
#include "launch/process_info.h"
#include "launch/report.h"
#include "launch/starter.h"

namespace meantime::launch {

namespace {

constexpr int timeout_status = 124;
constexpr int deadlock_status = 125;

/// From SIGTERM to SIGKILL when the job is ended: what a rank may use to save something, and short
/// enough that the whole end stays below a second.
constexpr double grace_seconds = 0.25;
/// How long processes that SIGKILL does not end (stuck in the kernel) are waited for.
constexpr double patience_seconds = 5;
/// Two SIGINT closer than this are one: `timeout` and some shells signal process and group.
constexpr double same_signal_seconds = 0.1;

/// What an epoll event is about: the high half of its data; the low half is a rank.
enum class Source : std::uint32_t { signals, time_limit, grace, control, mpi_process };

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Supervisor {
 public:
  explicit Supervisor(Job& job) : job_(job), starter_(job) {}

  int run() {
    if (!prepare() || !start_ranks()) {
      kill_all();
      return status_;
    }
    while (!all_gone()) {
      wait_for_event();
    }
    starter_.finish_output();
    return status_;
  }

 private:
  // Starting.
  bool prepare();
  bool start_ranks();
  bool cannot_start(const std::string& line);
  void on_failed_start(int rank);
  void watch(int descriptor, Source source, int rank = 0);

  // Events.
  void wait_for_event();
  void on_signals();
  void on_signal(const signalfd_siginfo& info);
  bool asked_for(int signal);
  void pass_on(int signal, bool ranks_have_it);
  void reap();
  void on_control(int rank);
  void on_message(int rank, const ControlMessage& message, std::string_view text);
  void on_foreign_message(int rank);
  void on_rank_ended(int rank, int wait_status);
  void judge(int rank, int wait_status);
  void on_mpi_process_gone(int rank);
  void check_for_stragglers();
  void on_grace_over();

  // Ending.
  void end_job(int status, std::string_view line);
  void signal_ranks(std::initializer_list<int> signals);
  int kill_all();
  void arm(int timer, double seconds);
  bool all_gone();
  [[nodiscard]] std::string name(int rank) const;

  Job& job_;
  const pid_t front_ = getppid();
  Starter starter_;
  ControlChannel channel_;
  int status_ = 0;
  bool ending_ = false;
  int running_ = 0;  ///< started processes that have not ended
  int inside_ = 0;   ///< ranks that have called MPI_Init
  int silent_ = -1;  ///< a rank that ended without ever calling MPI_Init
  double interrupted_ = 0;
  sigset_t passed_on_{};  ///< signals that ranks got from us or the terminal

  int events_ = -1;
  int signals_ = -1;
  int time_limit_ = -1;
  int grace_ = -1;
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
  if (std::string problem = starter_.prepare(); !problem.empty()) {
    return cannot_start(problem);
  }
  return true;
}

bool Supervisor::start_ranks() {
  int rank = 0;
  for (std::size_t i = 0; i < job_.programs.size(); ++i) {
    for (int k = 0; k < job_.programs[i].request.ranks; ++k, ++rank) {
      job_.ranks[rank].program = static_cast<int>(i);
      if (std::string problem = starter_.start_rank(rank); !problem.empty()) {
        return cannot_start(problem);
      }
      watch(job_.ranks[rank].control, Source::control, rank);
      ++running_;
      if (getppid() != front_) {  // killed meanwhile; the signal about it waits to be read
        status_ = 128 + SIGKILL;
        return false;
      }
    }
  }
  starter_.forward_output();
  if (job_.command.timeout_seconds > 0) {
    time_limit_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    arm(time_limit_, job_.command.timeout_seconds);
    watch(time_limit_, Source::time_limit);
  }
  return true;
}

bool Supervisor::cannot_start(const std::string& line) {
  say(line);
  status_ = 1;
  return false;
}

void Supervisor::watch(int descriptor, Source source, int rank) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint32_t>(rank);
  epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event);
}

// The process was there, the program was not: the whole job is a mistake.
void Supervisor::on_failed_start(int rank) {
  const Spawn& child = starter_.spawn_of(rank);
  std::string why = std::strerror(child.error);
  switch (child.failed_step) {
    case SpawnStep::run:
      if (child.error == ENOENT) {
        // The file was there a moment ago.
        why = "the interpreter it names (by #! or in its ELF header) does not exist";
      }
      end_job(child.error == ENOENT ? 127 : 126,
              fmt::format("cannot run '{}': {}", child.path, why));
      break;
    case SpawnStep::directory:
      end_job(1, fmt::format("-wdir {}: {}", child.directory, why));
      break;
    default:
      end_job(1, fmt::format("cannot start rank {} of {}: its descriptors: {}", rank,
                             job_.ranks.size(), why));
  }
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
      case Source::mpi_process:
        on_mpi_process_gone(rank);
        break;
      case Source::grace:
        on_grace_over();
        break;
      case Source::time_limit:
        arm(time_limit_, 0);
        if (!ending_) {
          say("the time limit of {} s is over:\n{}", job_.command.timeout_seconds,
              job_report(job_, starter_.segment()));
          end_job(timeout_status, {});
        }
        break;
    }
  }
}

void Supervisor::on_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    on_signal(info);
  }
}

void Supervisor::on_signal(const signalfd_siginfo& info) {
  int signal = static_cast<int>(info.ssi_signo);
  bool ranks_have_it = false;
  if (signal == relayed_signal()) {
    signal = info.ssi_int >> 1;
    ranks_have_it = (info.ssi_int & 1) != 0;
  }
  if (signal == SIGCHLD) {
    reap();
  } else if (signal == front_is_gone_signal()) {
    // SIGKILL for mpiexec means SIGKILL for the job.
    kill_all();
    _exit(128 + SIGKILL);
  } else if (signal == SIGQUIT) {
    say("what each rank does:\n{}", job_report(job_, starter_.segment()));
  } else {
    pass_on(signal, ranks_have_it);
  }
}

void Supervisor::pass_on(int signal, bool ranks_have_it) {
  sigaddset(&passed_on_, signal);
  if (signal == SIGINT || signal == SIGTERM) {
    // The first is a request, which ranks may take their time for; the second an order.
    if (interrupted_ > 0 && seconds_now() - interrupted_ > same_signal_seconds) {
      ending_ = true;
      status_ = 128 + signal;
      on_grace_over();
      return;
    }
    interrupted_ = seconds_now();
  }
  if (ranks_have_it) {
    return;
  }
  for (const RankProcess& rank : job_.ranks) {
    if (rank.pid < 0 || rank.ended) {
      continue;
    }
    // The program, if it is known and was started by a script: the script would die of it.
    bool through_script = rank.mpi_pid > 0 && rank.mpi_pid != rank.pid;
    pid_t target = through_script ? rank.mpi_pid : rank.pid;
    int sent = signal;
    if (signal == SIGTSTP && !catches(target, SIGTSTP)) {
      sent = SIGSTOP;  // the default action, which an orphaned process group would not get
    }
    kill(target, sent);
    if (through_script && (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)) {
      kill(rank.pid, signal);
    }
  }
}

// A key of the terminal, or a signal to the process group (as timeout(1) sends it), reaches ranks
// and mpiexec at once. If a rank's end is heard of first, the news of the signal is just behind.
bool Supervisor::asked_for(int signal) {
  const sigset_t supervised = supervised_signals();
  const double end = seconds_now() + same_signal_seconds;
  while (sigismember(&supervised, signal) == 1 && sigismember(&passed_on_, signal) == 0 &&
         seconds_now() < end) {
    pollfd news{signals_, POLLIN, 0};
    poll(&news, 1, 10);
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != SIGCHLD) {  // we are asked while reaping
        on_signal(info);
      }
    }
  }
  return sigismember(&passed_on_, signal) == 1;
}

void Supervisor::reap() {
  int wait_status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
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

void Supervisor::on_message(int rank, const ControlMessage& message, std::string_view text) {
  RankProcess& process = job_.ranks[rank];
  switch (message.kind) {
    case ControlKind::hello:
      process.mpi_pid = channel_.sender > 0 ? channel_.sender : process.pid;
      if (message.version != control_version || text != version) {
        end_job(1, fmt::format("{} uses Meantime {}, mpiexec is {}: use those of one installation",
                               name(rank), text, version));
      } else if (process.phase != MpiPhase::outside) {
        end_job(1, fmt::format("{} is the second MPI program of its rank: one is all there can be",
                               name(rank)));
      } else {
        process.phase = MpiPhase::inside;
        ++inside_;
        if (process.mpi_pid != process.pid) {
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
      end_job(status, text.empty() ? fmt::format("{} called MPI_Abort with code {}", name(rank),
                                                 message.code)
                                   : fmt::format("{}: {}", name(rank), text));
      break;
    }
    case ControlKind::text:
      process.text += text;
      break;
    case ControlKind::deadlock: {
      process.text += text;
      if (!process.text.ends_with('\n')) {
        process.text += '\n';
      }
      if (!ending_) {
        write_all(STDERR_FILENO, process.text);
      }
      process.text.clear();
      if (job_.command.on_deadlock == DeadlockAction::abort) {
        end_job(deadlock_status, {});
      }
      break;
    }
  }
}

// MPICH and its relatives greet their launcher through PMI_FD, which is the control socket: this
// process did not load our library. It waits for an answer now, so its memory map can be read.
void Supervisor::on_foreign_message(int rank) {
  const pid_t sender = channel_.sender > 0 ? channel_.sender : job_.ranks[rank].pid;
  std::string library = loaded_mpi_library(sender);
  end_job(1, fmt::format("{} loaded another MPI library{}{}, not Meantime's; rebuild it with "
                         "Meantime's mpicc",
                         name(rank), library.empty() ? "" : ": ", library));
}

void Supervisor::on_rank_ended(int rank, int wait_status) {
  RankProcess& process = job_.ranks[rank];
  process.ended = true;
  process.wait_status = wait_status;
  --running_;
  if (ending_) {
    return;
  }
  if (starter_.spawn_of(rank).failed_step != SpawnStep::none) {
    on_failed_start(rank);
    return;
  }
  judge(rank, wait_status);
}

void Supervisor::judge(int rank, int wait_status) {
  const RankProcess& process = job_.ranks[rank];
  const bool finalized = process.phase == MpiPhase::finalized;
  if (WIFSIGNALED(wait_status)) {
    int signal = WTERMSIG(wait_status);
    std::string line = fmt::format("{} was killed by {}{}", name(rank), signal_text(signal),
                                   WCOREDUMP(wait_status) ? ", core dumped" : "");
    if (asked_for(signal)) {
      end_job(128 + signal, {});
    } else if (finalized) {
      say("{} after MPI_Finalize", line);
      status_ = status_ == 0 ? 128 + signal : status_;
    } else {
      end_job(128 + signal, line);
    }
    return;
  }
  int code = WEXITSTATUS(wait_status);
  if (code != 0 && status_ == 0) {
    status_ = code;
  }
  if (finalized) {
    return;
  }
  if (process.phase == MpiPhase::inside) {
    end_job(code == 0 ? 1 : code,
            fmt::format("{} ended with status {} without MPI_Finalize", name(rank), code));
  } else if (code != 0 && job_.programs[process.program].inspection.uses_mpi) {
    end_job(code, fmt::format("{} ended with status {} before MPI_Init", name(rank), code));
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
      end_job(1, fmt::format("{} ended without MPI_Finalize", name(rank)));
    }
  }
  close(process.mpi_process);
  process.mpi_process = -1;
  reap();  // judging may have read the news about a child without acting on it
}

// Ranks that are in MPI would wait for ever for one that has ended without getting there. A job
// of which no rank calls MPI_Init is not MPI's business: its ranks end as they like.
void Supervisor::check_for_stragglers() {
  if (silent_ < 0 || inside_ == 0 || ending_) {
    return;
  }
  int code =
      WIFEXITED(job_.ranks[silent_].wait_status) ? WEXITSTATUS(job_.ranks[silent_].wait_status) : 1;
  end_job(code == 0 ? 1 : code, fmt::format("{} ended with status {} before MPI_Init, others wait "
                                            "for it",
                                            name(silent_), code));
}

// --- ending

void Supervisor::end_job(int status, std::string_view line) {
  if (ending_) {
    return;
  }
  if (!line.empty()) {
    say(line);
  }
  ending_ = true;
  status_ = status;
  // The ranks first: as long as they run, on busy cores, the search for the others takes its time.
  signal_ranks({SIGTERM, SIGCONT});  // a stopped process would not see the first without the second
  signal_descendants({SIGTERM, SIGCONT});
  grace_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  arm(grace_, grace_seconds);
  watch(grace_, Source::grace);
}

void Supervisor::signal_ranks(std::initializer_list<int> signals) {
  for (const RankProcess& rank : job_.ranks) {
    for (int signal : signals) {
      if (rank.pid > 0 && !rank.ended) {
        kill(rank.pid, signal);
      }
    }
  }
}

int Supervisor::kill_all() {
  signal_ranks({SIGKILL});
  return kill_descendants(patience_seconds);
}

void Supervisor::on_grace_over() {
  if (grace_ >= 0) {
    arm(grace_, 0);
  }
  int left = kill_all();
  for (RankProcess& rank : job_.ranks) {
    rank.ended = true;
  }
  running_ = 0;
  if (left > 0) {
    say("{} processes could not be killed", left);
    _exit(status_);
  }
}

void Supervisor::arm(int timer, double seconds) {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(seconds);
  when.it_value.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  timerfd_settime(timer, 0, &when, nullptr);
}

// True once nothing of the job is left. When the ranks are through but have left processes behind,
// these are ended first.
bool Supervisor::all_gone() {
  if (running_ > 0) {
    return false;
  }
  reap();
  if (waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) {
    return true;
  }
  if (!ending_) {
    end_job(status_, {});
  }
  return false;
}

std::string Supervisor::name(int rank) const {
  const RankProcess& process = job_.ranks[rank];
  return fmt::format("rank {} (pid {} on {})", rank,
                     process.mpi_pid > 0 ? process.mpi_pid : process.pid, host_name());
}

}  // namespace

int front_is_gone_signal() {
  return SIGPWR;
}

int relayed_signal() {
  return SIGRTMIN;
}

int relayed(int signal, bool ranks_have_it) {
  return signal << 1 | (ranks_have_it ? 1 : 0);
}

sigset_t supervised_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGQUIT, SIGCHLD}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

int supervise(Job& job) {
  return Supervisor(job).run();
}

}  // namespace meantime::launch
