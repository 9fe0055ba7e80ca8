#include "launch/start/starter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "elf/elf_file.h"
#include "launch/messages.h"
#include "launch/start/debugger.h"
#include "launch/start/installation.h"
#include "launch/supervise/control_channel.h"
#include "net/board.h"
#include "node/segment.h"
#include "protocol/host_words.h"
#include "protocol/task.h"
#include "settings/shown.h"

namespace meantime::launch {

namespace {

/// Scripts use the digits 3 to 9 for files of their own, and shells some numbers above.
constexpr int first_inherited = 20;
/// Descriptors of mpiexec that do not depend on the number of ranks, generously.
constexpr rlim_t own_descriptors = 64;

/// For --report-bindings; nullptr: wherever mpiexec itself may run.
std::string binding_of(const cpu_set_t* cpus) {
  if (cpus != nullptr) {
    return fmt::format("bound to CPU{} {}", CPU_COUNT(cpus) == 1 ? "" : "s", cpu_list(*cpus));
  }
  cpu_set_t own;
  CPU_ZERO(&own);
  sched_getaffinity(0, sizeof own, &own);
  return fmt::format("not bound: CPUs {}", cpu_list(own));
}

}  // namespace

std::string Starter::make_segments() {
  std::vector<int> nodes = job_.first_of_node;
  for (const RankProcess& rank : job_.ranks) {
    if (job_.nodes > 1) {
      nodes.push_back(rank.node);
    }
  }
  for (int node = 0; node < job_.nodes; ++node) {
    const auto hosts = std::count_if(
        job_.hosts.begin(), job_.hosts.end(),
        [&](const ThreadHost& host) { return job_.ranks[host.first_rank].node == node; });
    const auto here = std::count_if(
        job_.ranks.begin(), job_.ranks.end(),
        [node](const RankProcess& rank) { return rank.node == node && !rank.elsewhere; });
    const int segment =
        node::create_segment(static_cast<int>(job_.ranks.size()), job_.cpus.workers,
                             {.runners = job_.runners(node),
                              .thread_hosts = job_.all_threads() ? static_cast<int>(hosts) : 0,
                              .ranks_here = static_cast<int>(here)});
    if (segment < 0) {
      const std::string limit = node::what_limits(static_cast<std::uint32_t>(-segment));
      return fmt::format("cannot make the job's shared memory: {}{}", std::strerror(-segment),
                         segment == -ENOMEM ? " (is the address space limited by ulimit -v?)"
                         : limit.empty()    ? ""
                                            : fmt::format(" ({})", limit));
    }
    segments_.push_back(segment);
  }
  if (job_.has_board()) {
    board_ = net::Board::create(nodes);
    if (board_ < 0) {
      return fmt::format("cannot make the job's board of addresses: {}", std::strerror(-board_));
    }
    return board_of_addresses_.map(board_);
  }
  return {};
}

std::string Starter::prepare() {
  if (std::string problem = raise_descriptor_limit(); !problem.empty()) {
    return problem;
  }
  if (std::string problem = make_segments(); !problem.empty()) {
    return problem;
  }
  int lifeline[2];
  no_input_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (no_input_ < 0) {
    return fmt::format("cannot start: /dev/null: {}", std::strerror(errno));
  }
  if (pipe2(lifeline, O_CLOEXEC) != 0) {
    return fmt::format("cannot start: {}", std::strerror(errno));
  }
  lifeline_read_ = lifeline[0];  // the other end stays open for as long as this process lives
  for (int* number :
       {&known_as_.segment, &known_as_.control, &known_as_.lifeline, &known_as_.board}) {
    *number = fcntl(no_input_, F_DUPFD_CLOEXEC, first_inherited);
    if (*number < 0) {
      return fmt::format("cannot start: {}", std::strerror(errno));
    }
  }
  job_.wake_up = wake_up_cost(job_);
  choose_signals();
  for (const PreparedProgram& program : job_.programs) {
    environments_.emplace_back(job_, program, known_as_);
  }
  spawns_.resize(job_.ranks.size());
  if (job_.command.output.through_pipes()) {
    labeler_ = std::make_unique<Labeler>(job_.command.output, static_cast<int>(job_.ranks.size()));
  }
  return {};
}

// A process takes one descriptor of ours for its socket, and so does a member of the hub's; a rank
// two if its output comes through pipes, two more for its files, and with threads also numbers for
// the ends that it gets.
std::string Starter::raise_descriptor_limit() {
  rlim_t wanted =
      own_descriptors + job_.hosts.size() + static_cast<rlim_t>(job_.nodes) + job_.networks.size();
  wanted += job_.member < 0 ? job_.members.size() : 0;
  const RankOutput& output = job_.command.output;
  for (const RankProcess& rank : job_.ranks) {
    if (rank.elsewhere) {
      continue;
    }
    wanted += (rank.host < 0 ? 1 : 0) +
              (!output.through_pipes() ? 0
               : rank.host < 0         ? 2
                                       : 6) +
              (output.folder.empty() ? 0 : 2);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
    return {};
  }
  if (limit.rlim_max < wanted) {
    return fmt::format("{} ranks need {} open files, the limit is {} (ulimit -Hn)",
                       job_.ranks.size(), wanted, limit.rlim_max);
  }
  descriptor_limit_ = limit;
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
  return {};
}

/// Measured only for those who may poll.
machine::WakeUpCost Starter::wake_up_cost(const Job& job) {
  const settings::Setting& setting = *settings::find("MEANTIME_WAKE_UP_COST");
  const std::string text = job.setting(setting.name);
  if (const auto microseconds = settings::number(setting, text)) {
    return {*microseconds * 1000, "set"};
  }
  if (job.starts_members || job.ranks.size() < 2 || job.cpus.workers < 2 ||
      job.runners() > job.cpus.workers) {
    return {0, "not measured: no rank has a CPU of its own to poll on"};
  }
  return job.latency_hold >= 0 ? machine::changed_wake_up_cost() : machine::wake_up_cost();
}

void Starter::choose_signals() {
  // This process ignores some; the ranks find them as mpiexec did.
  for (int signal : {SIGTTOU, SIGPIPE, SIGXFSZ}) {
    if (std::signal(signal, SIG_IGN) == SIG_DFL) {
      defaulted_.push_back(signal);
    }
  }
  if (job_.has_terminal) {
    // Ctrl-\ goes to the ranks as well: it asks mpiexec for the report and must not end them. A
    // rank that handles SIGQUIT itself still can.
    ignored_.push_back(SIGQUIT);
  }
}

/// A socket, and a new open file description of the lifeline's pipe: each process owns the signal
/// that it asks for on its own. Empty, or what cannot be had.
std::string Starter::make_channel(Channel& channel, int& lifeline) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return fmt::format("its socket: {}", std::strerror(errno));
  }
  channel = {sockets[0], sockets[1]};
  ControlChannel::prepare(channel.ours);
  lifeline = new_lifeline();
  return lifeline >= 0 ? std::string() : fmt::format("its lifeline: {}", std::strerror(errno));
}

int Starter::new_lifeline() const {
  return open(fmt::format("/proc/self/fd/{}", lifeline_read_).c_str(),
              O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

std::string Starter::welcome_task(int rank) {
  const RankProcess& process = job_.ranks[rank];
  const int lifeline = new_lifeline();
  const std::string text = environments_[process.program].of_task(rank, job_.rank_on_node(rank));
  const int descriptors[] = {segment_of(rank), lifeline};
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof descriptors)] = {};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = room;
  packet.msg_controllen = sizeof room;
  cmsghdr* const item = CMSG_FIRSTHDR(&packet);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(item), descriptors, sizeof descriptors);
  const bool sent = lifeline >= 0 && text.size() <= welcome_limit &&
                    sendmsg(process.control, &packet, MSG_NOSIGNAL) >= 0;
  const std::string why = sent                          ? ""
                          : text.size() > welcome_limit ? "its environment is too large"
                                                        : std::strerror(errno);
  if (lifeline >= 0) {
    close(lifeline);
  }
  return sent ? std::string()
              : fmt::format("cannot make task {} (pid {}) a rank: {}", rank, process.pid, why);
}

/// What every process of ours gets. `rank`: or the first of its threads.
void Starter::inherit(Spawn& child, const PreparedProgram& program, int rank) const {
  child.network =
      job_.networks.empty() ? -1 : job_.networks[static_cast<std::size_t>(job_.ranks[rank].node)];
  child.directory = program.request.directory.empty() ? nullptr : program.request.directory.c_str();
  child.signal_mask = &job_.signal_mask;
  child.ignored_signals = ignored_;
  child.default_signals = defaulted_;
  child.descriptor_limit = descriptor_limit_;
}

/// In the list of bindings.
std::size_t Starter::place_of(int rank) const {
  const int number = job_.first_of_node.empty() ? rank : job_.rank_on_node(rank);
  return static_cast<std::size_t>(number) % job_.bindings.size();
}

std::string Starter::start_rank(int rank) {
  auto cannot = [&](const std::string& what) {
    return fmt::format("cannot start rank {} of {}: {}", rank, job_.ranks.size(), what);
  };
  Channel channel{};
  int lifeline = -1;
  if (const std::string what = make_channel(channel, lifeline); !what.empty()) {
    return cannot(what);
  }
  Labeler::Ends ends;
  if (labeler_) {
    ends = labeler_->add_rank(rank);
    if (ends.output < 0) {
      return cannot(ends.problem);
    }
  }
  RankProcess& process = job_.ranks[rank];
  PreparedProgram& program = job_.programs[process.program];
  Spawn& child = *(spawns_[rank] = std::make_unique<Spawn>());
  child.path = program.path;
  for (std::string& word : program.request.arguments) {
    child.arguments.push_back(word.data());
  }
  child.arguments.push_back(nullptr);
  child.environment = environments_[process.program].of_rank(
      rank, job_.first_of_node.empty() ? rank : job_.rank_on_node(rank), child.texts);
  child.end_of_own_pid = child.texts.back().data() + child.texts.back().size();
  inherit(child, program, rank);
  child.descriptors = {{segment_of(rank), known_as_.segment},
                       {channel.theirs, known_as_.control},
                       {lifeline, known_as_.lifeline}};
  if (board_ >= 0) {
    child.descriptors.push_back({board_, known_as_.board});
  }
  if (rank != job_.command.stdin_rank) {
    child.descriptors.push_back({no_input_, STDIN_FILENO});
  }
  if (labeler_) {
    child.descriptors.push_back({ends.output, STDOUT_FILENO});
    child.descriptors.push_back({ends.error, STDERR_FILENO});
  } else if (job_.command.output.merged) {
    child.descriptors.push_back({STDOUT_FILENO, STDERR_FILENO});
  }
  child.cpus = job_.bindings.empty() ? nullptr : &job_.bindings[place_of(rank)];
  const pid_t pid = spawn(child);
  for (int descriptor : {channel.theirs, lifeline, ends.output, ends.error}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
  if (pid < 0) {
    close(channel.ours);
    return cannot(fmt::format("its process: {}", std::strerror(-pid)));
  }
  process.pid = pid;
  process.control = channel.ours;
  if (job_.command.verbose) {
    say("rank {} is pid {} ({}){}", rank, pid, settings::shown_path(program.path),
        child.cpus == nullptr ? std::string() : fmt::format(" on CPU {}", cpu_list(*child.cpus)));
  }
  if (job_.command.report_bindings) {
    say("rank {} is {}", rank, binding_of(child.cpus));
  }
  return {};
}

std::string Starter::start_host(int number) {
  ThreadHost& host = job_.hosts[number];
  auto cannot = [&](const std::string& what) {
    return fmt::format("cannot start {} thread ranks: {}", host.ranks, what);
  };
  Channel channel{};
  int lifeline = -1;
  if (const std::string what = make_channel(channel, lifeline); !what.empty()) {
    return cannot(what);
  }
  const int first_program = job_.ranks[host.first_rank].program;
  PreparedProgram& program = job_.programs[first_program];
  Spawn& child = *(spawns_[host.first_rank] = std::make_unique<Spawn>());
  inherit(child, program, host.first_rank);
  child.path = host_program();
  child.environment = environments_[first_program].of_host();
  // Far from what programs open, and the labelled ones in a row.
  HostWords words;
  words.first_rank = host.first_rank;
  words.ranks = host.ranks;
  words.workers = host.workers;
  words.first_worker = host.first_worker;
  words.job_workers = job_.all_threads() ? job_.runners() : 0;
  words.stdin_rank = job_.command.stdin_rank;
  words.no_input = known_as_.board + 1;
  words.round_robin = job_.command.placement == Placement::round_robin ? 1 : 0;
  words.first_workers = job_.first_workers;
  words.steal = job_.command.balance == Balance::steal ? 1 : 0;
  for (int rank = host.first_rank; rank < host.first_rank + host.ranks; ++rank) {
    const int runs = job_.ranks[rank].program;
    if (words.programs.empty() || words.programs.back().number != runs) {
      words.programs.push_back(
          {0, runs, job_.programs[runs].path, job_.programs[runs].request.arguments});
    }
    ++words.programs.back().ranks;
  }
  child.descriptors = {{segment_of(host.first_rank), known_as_.segment},
                       {channel.theirs, known_as_.control},
                       {lifeline, known_as_.lifeline},
                       {no_input_, words.no_input}};
  if (board_ >= 0) {
    child.descriptors.push_back({board_, known_as_.board});
  }
  if (words.stdin_rank < host.first_rank || words.stdin_rank >= host.first_rank + host.ranks) {
    child.descriptors.push_back({no_input_, STDIN_FILENO});
  }
  std::vector<int> ends;
  if (labeler_) {
    words.first_label = words.no_input + 1;
    for (int rank = 0; rank < words.ranks; ++rank) {
      const Labeler::Ends both = labeler_->add_rank(host.first_rank + rank);
      if (both.output < 0) {
        return cannot(both.problem);
      }
      ends.insert(ends.end(), {both.output, both.error});
    }
    // The numbers must be free in this process too while it passes them on: ours are above.
    const int above = words.first_label + static_cast<int>(ends.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, above);
      if (moved < 0) {
        return cannot(fmt::format("pipes for their output: {}", std::strerror(errno)));
      }
      close(ends[i]);
      ends[i] = moved;
      child.descriptors.push_back({moved, words.first_label + static_cast<int>(i)});
    }
  } else if (job_.command.output.merged) {
    child.descriptors.push_back({STDOUT_FILENO, STDERR_FILENO});
  }
  child.texts = words.words();
  if (job_.command.debugger) {
    put_host_under_debugger(child.path, child.texts);
  }
  for (std::string& word : child.texts) {
    child.arguments.push_back(word.data());
  }
  child.arguments.push_back(nullptr);
  const pid_t pid = spawn(child);
  for (int descriptor : {channel.theirs, lifeline}) {
    close(descriptor);
  }
  for (int descriptor : ends) {
    close(descriptor);
  }
  if (pid < 0) {
    close(channel.ours);
    return cannot(fmt::format("their process: {}", std::strerror(-pid)));
  }
  host.pid = pid;
  host.control = channel.ours;
  if (job_.command.verbose) {
    say("{} thread ranks are pid {} ({}){}", host.ranks, pid, settings::shown_path(program.path),
        job_.runners() == host.workers ? std::string()
                                       : fmt::format(": {} on {} worker{}", host.text(),
                                                     host.workers, host.workers == 1 ? "" : "s"));
  }
  if (job_.command.report_bindings) {
    say("thread {}: {}, a worker for each", host.text(), binding_of(nullptr));
  }
  return {};
}

std::optional<Starter::Failure> Starter::failed_start(int rank) const {
  const Spawn& child = *spawns_[rank];
  std::string why = std::strerror(child.error);
  switch (child.failed_step) {
    case SpawnStep::none:
      return std::nullopt;
    case SpawnStep::run:
      if (child.error == ENOENT) {
        // The file was there a moment ago.
        why = "the interpreter it names (by #! or in its ELF header) does not exist";
      } else if (child.error == ENOEXEC) {
        const bool elsewhere = child.directory != nullptr && !child.path.starts_with('/');
        const std::string foreign =
            foreign_processor(elsewhere ? child.directory + ("/" + child.path) : child.path);
        why = foreign.empty() ? "it is neither a program nor a script" : foreign;
      }
      return Failure{child.error == ENOENT ? 127 : 126,
                     fmt::format("cannot run '{}': {}", settings::shown_path(child.path), why)};
    case SpawnStep::directory:
      return Failure{1, fmt::format("-wdir {}: {}", settings::shown_path(child.directory), why)};
    case SpawnStep::network:
    case SpawnStep::descriptors:
      break;
  }
  const bool network = child.failed_step == SpawnStep::network;
  return Failure{1, fmt::format("cannot start rank {} of {}: its {}: {}", rank, job_.ranks.size(),
                                network ? "node's network namespace" : "descriptors", why)};
}

void Starter::forward_output() {
  if (labeler_) {
    labeler_->start();
  }
}

int Starter::finish_output() {
  return labeler_ ? labeler_->finish() : 0;
}

}  // namespace meantime::launch
