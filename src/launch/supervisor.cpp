#include "launch/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "core/version.h"
#include "launch/control.h"
#include "launch/descendants.h"
#include "launch/environment.h"
#include "launch/label.h"
#include "launch/messages.h"
#include "launch/report.h"
#include "launch/spawn.h"
#include "node/segment.h"

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

bool catches(pid_t pid, int signal) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigCgt:")) {
      return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
    }
  }
  return false;
}

/// The MPI library in a process's memory map, for the message about a wrong one.
std::string loaded_mpi_library(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    std::size_t path = line.find('/');
    std::size_t name = line.rfind('/');
    if (path != std::string::npos && line.compare(name + 1, 5, "libmp") == 0) {
      return line.substr(path);
    }
  }
  return {};
}

class Supervisor {
 public:
  explicit Supervisor(Job& job) : job_(job) {}

  int run() {
    if (!prepare() || !start_ranks()) {
      kill_descendants(patience_seconds);
      return status_;
    }
    while (!all_gone()) {
      wait_for_event();
    }
    if (labeler_) {
      labeler_->finish();
    }
    return status_;
  }

 private:
  // Starting.
  bool prepare();
  bool start_ranks();
  bool start_rank(int rank);
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
  void on_message(int rank, const ControlMessage& message, std::string_view text, pid_t sender);
  void on_foreign_message(int rank, pid_t sender);
  void on_rank_ended(int rank, int wait_status);
  void on_mpi_process_gone(int rank);
  void check_for_stragglers();
  void on_grace_over();

  // Ending.
  void end_job(int status, std::string_view line);
  void arm(int timer, double seconds);
  bool all_gone();
  [[nodiscard]] std::string name(int rank) const;

  Job& job_;
  int status_ = 0;
  bool ending_ = false;
  bool killing_ = false;
  int running_ = 0;  ///< started processes that have not ended
  int inside_ = 0;   ///< ranks that have called MPI_Init
  int silent_ = -1;  ///< a rank that ended without ever calling MPI_Init
  double interrupted_ = 0;
  sigset_t passed_on_{};  ///< signals that ranks got from us or the terminal

  int events_ = -1;
  int signals_ = -1;
  int time_limit_ = -1;
  int grace_ = -1;
  int segment_ = -1;
  int lifeline_read_ = -1;
  int lifeline_write_ = -1;
  int no_input_ = -1;
  RankDescriptors known_as_{};
  std::optional<rlimit> descriptor_limit_;
  std::vector<int> ignored_;
  std::vector<int> defaulted_;
  std::vector<cpu_set_t> places_;
  std::vector<RankEnvironment> environments_;
  std::vector<std::unique_ptr<Spawn>> spawns_;  ///< by rank: read by the children as they start
  std::unique_ptr<Labeler> labeler_;
};

// ---------------------------------------------------------------------------------------- starting

bool Supervisor::prepare() {
  sigemptyset(&passed_on_);
  status_ = 1;
  // Each rank takes a socket and, while it starts, a few descriptors more.
  rlim_t wanted = job_.ranks.size() * (job_.command.label ? 3 : 1) + 64;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    if (limit.rlim_max < wanted) {
      say("{} ranks need {} open files, the limit is {} (ulimit -Hn)", job_.ranks.size(), wanted,
          limit.rlim_max);
      return false;
    }
    descriptor_limit_ = limit;
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  segment_ = node::create_segment(static_cast<int>(job_.ranks.size()), job_.cpus.workers);
  if (segment_ < 0) {
    say("cannot make the job's shared memory: {}", std::strerror(-segment_));
    return false;
  }
  int lifeline[2];
  sigset_t signals = supervised_signals();
  sigaddset(&signals, front_is_gone_signal());
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  events_ = epoll_create1(EPOLL_CLOEXEC);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  no_input_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (events_ < 0 || signals_ < 0 || no_input_ < 0 || pipe2(lifeline, O_CLOEXEC) != 0) {
    say("cannot start: {}", std::strerror(errno));
    return false;
  }
  lifeline_read_ = lifeline[0];
  lifeline_write_ = lifeline[1];
  watch(signals_, Source::signals);
  // Scripts use the digits 3 to 9 for files of their own; these numbers are above them.
  for (int* number : {&known_as_.segment, &known_as_.control, &known_as_.lifeline}) {
    *number = fcntl(no_input_, F_DUPFD_CLOEXEC, 20);
  }
  if (known_as_.lifeline < 0) {
    say("cannot start: {}", std::strerror(errno));
    return false;
  }
  struct sigaction action {};
  for (int signal : {SIGTTOU, SIGPIPE}) {
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      defaulted_.push_back(signal);
    }
    signal == SIGTTOU ? std::signal(SIGTTOU, SIG_IGN) : std::signal(SIGPIPE, SIG_IGN);
  }
  if (job_.has_terminal) {
    // Ctrl-\ goes to the ranks as well: it asks mpiexec for the report and must not end them. A
    // rank that handles SIGQUIT itself still can.
    ignored_.push_back(SIGQUIT);
  }
  places_ = binding_places(job_.command.binding, job_.cpus.workers);
  status_ = 0;
  return true;
}

void Supervisor::watch(int descriptor, Source source, int rank) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint32_t>(rank);
  epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event);
}

bool Supervisor::start_ranks() {
  if (job_.command.label) {
    labeler_ = std::make_unique<Labeler>();
  }
  spawns_.reserve(job_.ranks.size());
  environments_.reserve(job_.programs.size());
  int rank = 0;
  for (std::size_t i = 0; i < job_.programs.size(); ++i) {
    const PreparedProgram& program = job_.programs[i];
    environments_.emplace_back(job_, program, known_as_);
    for (int k = 0; k < program.request.ranks; ++k, ++rank) {
      job_.ranks[rank].program = static_cast<int>(i);
      if (!start_rank(rank)) {
        return false;
      }
    }
  }
  if (labeler_) {
    labeler_->start();
  }
  if (job_.command.timeout_seconds > 0) {
    time_limit_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    arm(time_limit_, job_.command.timeout_seconds);
    watch(time_limit_, Source::time_limit);
  }
  return true;
}

bool Supervisor::start_rank(int rank) {
  auto cannot = [&](const char* what) {
    say("cannot start rank {} of {}: {}: {}", rank, job_.ranks.size(), what, std::strerror(errno));
    status_ = 1;
    return false;
  };
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return cannot("its socket");
  }
  int on = 1;
  setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  // A new open file description of the same pipe: each rank owns the signal it asks for on its own.
  int lifeline = open(fmt::format("/proc/self/fd/{}", lifeline_read_).c_str(),
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (lifeline < 0) {
    return cannot("its lifeline");
  }
  Labeler::Ends ends;
  if (labeler_) {
    ends = labeler_->add_rank();
    if (ends.output < 0) {
      return cannot("its pipes");
    }
  }
  RankProcess& process = job_.ranks[rank];
  PreparedProgram& program = job_.programs[process.program];
  Spawn& child = *spawns_.emplace_back(std::make_unique<Spawn>());
  child.path = program.path;
  for (std::string& word : program.request.arguments) {
    child.arguments.push_back(word.data());
  }
  child.arguments.push_back(nullptr);
  child.environment = environments_[process.program].of_rank(rank, child.texts);
  child.directory = program.request.directory.empty() ? nullptr : program.request.directory.c_str();
  child.descriptors = {{segment_, known_as_.segment},
                       {sockets[1], known_as_.control},
                       {lifeline, known_as_.lifeline}};
  if (rank != job_.command.stdin_rank) {
    child.descriptors.push_back({no_input_, STDIN_FILENO});
  }
  if (labeler_) {
    child.descriptors.push_back({ends.output, STDOUT_FILENO});
    child.descriptors.push_back({ends.error, STDERR_FILENO});
  }
  child.cpus = places_.empty() ? nullptr : &places_[rank % places_.size()];
  child.signal_mask = &job_.signal_mask;
  child.ignored_signals = ignored_;
  child.default_signals = defaulted_;
  child.descriptor_limit = descriptor_limit_;
  child.process_group = job_.process_group;
  pid_t pid = spawn(child);
  for (int descriptor : {sockets[1], lifeline, ends.output, ends.error}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
  if (pid < 0) {
    close(sockets[0]);
    errno = -pid;
    return cannot("its process");
  }
  process.pid = pid;
  process.control = sockets[0];
  watch(process.control, Source::control, rank);
  ++running_;
  if (job_.command.verbose) {
    say("rank {} is pid {} ({}){}", rank, pid, program.path,
        child.cpus == nullptr ? std::string() : fmt::format(" on CPU {}", cpu_list(*child.cpus)));
  }
  return true;
}

// The process was there, the program was not: the whole job is a mistake.
void Supervisor::on_failed_start(int rank) {
  const Spawn& child = *spawns_[rank];
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

// ------------------------------------------------------------------------------------------ events

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
              job_report(job_, segment_));
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
  if (signal == SIGCHLD) {
    reap();
  } else if (signal == front_is_gone_signal()) {
    // SIGKILL for mpiexec means SIGKILL for the job.
    kill_descendants(patience_seconds);
    _exit(128 + SIGKILL);
  } else if (signal == SIGQUIT) {
    say("what each rank does:\n{}", job_report(job_, segment_));
  } else {
    // The front sends a 1 along if the terminal has given the signal to the ranks already.
    pass_on(signal, info.ssi_code == SI_QUEUE && info.ssi_int == 1);
  }
}

void Supervisor::pass_on(int signal, bool ranks_have_it) {
  sigaddset(&passed_on_, signal);
  if (signal == SIGINT) {
    if (interrupted_ > 0 && seconds_now() - interrupted_ > same_signal_seconds) {
      ending_ = true;
      status_ = 128 + SIGINT;
      killing_ = true;
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

// A key of the terminal signals ranks and mpiexec at once. If a rank's end is heard of first, the
// news of the key is just behind.
bool Supervisor::asked_for(int signal) {
  double end = seconds_now() + same_signal_seconds;
  bool key = job_.has_terminal && signal == SIGINT;
  while (sigismember(&passed_on_, signal) == 0 && key && seconds_now() < end) {
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
  alignas(ControlMessage) char packet[sizeof(ControlMessage) + control_text_limit];
  while (process.control >= 0) {
    iovec part{packet, sizeof packet};
    alignas(cmsghdr) char credentials[CMSG_SPACE(sizeof(ucred))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = credentials;
    header.msg_controllen = sizeof credentials;
    ssize_t bytes = recvmsg(process.control, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (bytes <= 0) {
      close(process.control);  // every holder of the other end is gone
      process.control = -1;
      return;
    }
    pid_t sender = process.pid;
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&header); part_of != nullptr;
         part_of = CMSG_NXTHDR(&header, part_of)) {
      if (part_of->cmsg_level == SOL_SOCKET && part_of->cmsg_type == SCM_CREDENTIALS) {
        ucred who{};
        std::memcpy(&who, CMSG_DATA(part_of), sizeof who);
        sender = who.pid > 0 ? who.pid : sender;
      }
    }
    ControlMessage message;
    if (bytes >= static_cast<ssize_t>(sizeof message)) {
      std::memcpy(&message, packet, sizeof message);
    }
    if (bytes < static_cast<ssize_t>(sizeof message) || message.magic != control_magic) {
      on_foreign_message(rank, sender);
      continue;
    }
    std::size_t text = std::min<std::size_t>(message.text_bytes, bytes - sizeof message);
    on_message(rank, message, {packet + sizeof message, text}, sender);
  }
}

void Supervisor::on_message(int rank, const ControlMessage& message, std::string_view text,
                            pid_t sender) {
  RankProcess& process = job_.ranks[rank];
  switch (message.kind) {
    case ControlKind::hello:
      process.mpi_pid = sender;
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
          process.mpi_process = static_cast<int>(syscall(SYS_pidfd_open, process.mpi_pid, 0));
          if (process.mpi_process >= 0) {
            fcntl(process.mpi_process, F_SETFD, FD_CLOEXEC);
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
void Supervisor::on_foreign_message(int rank, pid_t sender) {
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
  if (spawns_[rank]->failed_step != SpawnStep::none) {
    on_failed_start(rank);
    return;
  }
  bool finalized = process.phase == MpiPhase::finalized;
  bool has_mpi = process.phase != MpiPhase::outside;
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
  if (has_mpi) {
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
    end_job(1, fmt::format("{} ended without MPI_Finalize", name(rank)));
  }
  close(process.mpi_process);
  process.mpi_process = -1;
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

// ------------------------------------------------------------------------------------------ ending

void Supervisor::end_job(int status, std::string_view line) {
  if (ending_) {
    return;
  }
  if (!line.empty()) {
    say(line);
  }
  ending_ = true;
  status_ = status;
  signal_descendants(SIGTERM);
  signal_descendants(SIGCONT);  // a stopped process would not see it
  grace_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  arm(grace_, grace_seconds);
  watch(grace_, Source::grace);
}

void Supervisor::on_grace_over() {
  killing_ = true;
  if (grace_ >= 0) {
    arm(grace_, 0);
  }
  int left = kill_descendants(patience_seconds);
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
