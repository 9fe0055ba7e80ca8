#include "guest/keeper.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <set>
#include <string_view>

#include "base/clock.h"
#include "machine/cpu_seconds.h"
#include "machine/descendants.h"
#include "machine/process_stat.h"

namespace meantime::guest {
namespace {

/// Between two looks at what guests use; longer where a look takes long, so that looking costs a
/// CPU no more than this share.
constexpr double look_seconds = 0.1;
constexpr double most_share_of_looking = 1e-3;
constexpr double between_sums_seconds = 1;
/// A guest that ends at once is started again after pauses that double.
constexpr double first_pause_seconds = 0.1;
constexpr double longest_pause_seconds = 5;
constexpr double pause_between_reads = 0.01;
/// How long processes that SIGKILL does not end (stuck in the kernel) are waited for.
constexpr double patience_seconds = 5;

}  // namespace

Keeper::Keeper(Plan plan) : plan_(std::move(plan)) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&signals, signal);
  }
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  may_run_ = plan_.freeze ? 0 : plan_.cpus.size();
  guests_.reserve(plan_.cpus.size());
  for (std::size_t number = 0; number < plan_.cpus.size(); ++number) {
    guests_.emplace_back(plan_, static_cast<int>(number));
  }
}

int Keeper::run() {
  while (!all_gone()) {
    std::vector<pollfd> events = {
        {alone_ ? -1 : plan_.control, POLLIN, 0}, {signals_, POLLIN, 0},
        {grace_.descriptor(), POLLIN, 0},         {look_.descriptor(), POLLIN, 0},
        {again_.descriptor(), POLLIN, 0},         {logs_.descriptor(), POLLIN, 0}};
    const std::size_t first_log = events.size();
    for (Guest& guest : guests_) {
      events.push_back({reads_logs_ ? guest.log().pipe() : -1, POLLIN, 0});
    }
    if (poll(events.data(), events.size(), -1) < 0 && errno != EINTR) {
      kill_all();
      return 1;
    }
    if (events[0].revents != 0) {
      hear_orders();
    }
    if (events[1].revents != 0) {
      signalfd_siginfo info{};
      while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo != SIGCHLD) {
          end();
        }
      }
      reap();
    }
    if (events[2].revents != 0) {
      press_on();
    }
    if (events[3].revents != 0) {
      look();
    }
    if (events[4].revents != 0) {
      start_again();
    }
    if (events[5].revents != 0) {
      logs_.set(0);
      reads_logs_ = true;
    }
    if (std::any_of(events.begin() + static_cast<std::ptrdiff_t>(first_log), events.end(),
                    [](const pollfd& log) { return log.revents != 0; })) {
      read_logs();
    }
  }
  Account account;
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  account.cpu_seconds = machine::cpu_seconds(used);
  getrusage(RUSAGE_SELF, &used);
  account.keeper_cpu_seconds = machine::cpu_seconds(used);
  account.seconds = began_ == 0 ? 0 : ended_ - began_;
  account.ending_seconds = began_ == 0 ? 0 : now_seconds() - ended_;
  for (const Guest& guest : guests_) {
    account.guests.push_back(guest.account());
  }
  if (alone_ && plan_.detached && began_ != 0) {  // the rank that would have told it is dead
    std::fprintf(stderr, "meantime steal: the job ended without MPI_Finalize; %s\n",
                 account_for_people(account).c_str());
  }
  const std::string text = account_text(account);
  send(plan_.control, text.data(), text.size(), MSG_NOSIGNAL);
  return 0;
}

// True once there is nothing more to do: told to end, and no process is left.
bool Keeper::all_gone() {
  if (phase_ != Phase::interrupted && phase_ != Phase::terminated) {
    return false;
  }
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

void Keeper::hear_orders() {
  char orders[64];
  const ssize_t count = recv(plan_.control, orders, sizeof orders, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  for (ssize_t i = 0; i < count; ++i) {
    obey(static_cast<Order>(orders[i]));
  }
  if (count <= 0) {
    alone_ = true;
    phase_ = Phase::terminated;
    ended_ = now_seconds();
    kill_all();
  }
}

void Keeper::obey(Order order) {
  switch (order) {
    case Order::begin:
      begin();
      break;
    case Order::stop:
      stopped_ = true;
      machine::stop_descendants();
      break;
    case Order::go_on:
      stopped_ = false;
      machine::signal_descendants({SIGCONT});
      for (Guest& guest : guests_) {
        guest.was_let_run();
      }
      let_run();
      break;
    case Order::freeze:
    case Order::thaw:
      frozen_ = order == Order::freeze;
      let_run();
      break;
    case Order::number:
      next_may_run_ = 0;
      break;
    case Order::these:
      may_run_ = next_may_run_;
      let_run();
      break;
    case Order::end:
      end();
      break;
    default:
      if (const char digit = static_cast<char>(order); digit >= '0' && digit <= '9') {
        next_may_run_ = 10 * next_may_run_ + static_cast<std::size_t>(digit - '0');
      }
  }
}

void Keeper::let_run() {
  for (std::size_t number = 0; phase_ == Phase::running && number < guests_.size(); ++number) {
    guests_[number].let_run(!stopped_ && !frozen_ && number < may_run_);
  }
}

void Keeper::begin() {
  if (phase_ != Phase::waiting) {
    return;
  }
  phase_ = Phase::running;
  began_ = now_seconds();
  for (Guest& guest : guests_) {
    start(guest);
  }
  look_.set(look_seconds);
}

void Keeper::start(Guest& guest) {
  if (const std::string problem = guest.start(); !problem.empty()) {
    say(problem);
  }
  let_run();
}

void Keeper::end() {
  if (phase_ == Phase::interrupted || phase_ == Phase::terminated) {
    return;
  }
  phase_ = Phase::interrupted;
  ended_ = now_seconds();
  again_.set(0);
  for (const Guest& guest : guests_) {
    guest.signal(SIGINT);
    guest.signal(SIGCONT);
  }
  if (plan_.grace_seconds > 0) {
    grace_.set(plan_.grace_seconds);
  } else {
    kill_all();
  }
}

/// Those that are still there after SIGINT, SIGTERM.
void Keeper::press_on() {
  grace_.set(0);
  if (phase_ == Phase::interrupted) {
    phase_ = Phase::terminated;
    machine::signal_descendants({SIGTERM, SIGCONT});
    grace_.set(plan_.grace_seconds);
  } else {
    kill_all();
  }
}

void Keeper::kill_all() {
  grace_.set(0);
  for (const Guest& guest : guests_) {
    guest.signal(SIGKILL);
  }
  machine::kill_descendants(patience_seconds, [this](pid_t pid, const rusage& used) {
    for (Guest& guest : guests_) {
      if (guest.pid() == pid) {
        guest.ended(0, used);
      }
    }
  });
}

void Keeper::reap() {
  int wait_status = 0;
  rusage used{};
  for (pid_t pid = 0; (pid = wait4(-1, &wait_status, WNOHANG, &used)) > 0;) {
    const auto guest = std::find_if(guests_.begin(), guests_.end(),
                                    [pid](const Guest& one) { return one.pid() == pid; });
    if (guest == guests_.end()) {
      continue;  // what a guest has left behind
    }
    guest->signal(SIGKILL);  // the rest of its group
    const bool asked = phase_ != Phase::running;
    guest->ended(asked ? 0 : wait_status, used);
    if (!asked) {
      on_end(*guest);
    }
  }
}

// Who writes without end waits for us most of the time.
void Keeper::read_logs() {
  for (Guest& guest : guests_) {
    if (guest.log().pipe() >= 0) {
      guest.log().take();
    }
  }
  reads_logs_ = false;
  logs_.set(pause_between_reads);
}

void Keeper::on_end(Guest& guest) {
  const std::string failure = guest.failure();
  if (plan_.again) {
    const bool lasted = now_seconds() - guest.began() > longest_pause_seconds;
    again_seconds_ = lasted || again_seconds_ == 0
                         ? first_pause_seconds
                         : std::min(2 * again_seconds_, longest_pause_seconds);
    again_.set(again_seconds_);
  }
  // Of one that is started again the first of its failures in a row.
  if (!failure.empty() && !guest.had_failed()) {
    say(failure + (plan_.again ? "; it is started again" : ""));
  }
}

void Keeper::start_again() {
  again_.set(0);
  for (Guest& guest : guests_) {
    if (phase_ == Phase::running && !guest.running()) {
      start(guest);
    }
  }
}

/// What takes more than it may is ended, and so is what has left its guest's tree: nobody would
/// count it.
void Keeper::look() {
  const double began = now_seconds();
  const machine::ProcessTree tree;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::set<pid_t> counted;
  for (Guest& guest : guests_) {
    if (!guest.running()) {
      continue;
    }
    const machine::ProcessStat own = machine::process_stat(guest.pid());
    std::uint64_t bytes = own.resident_pages * page;
    double cpu_seconds = own.cpu_seconds;
    std::uint64_t processes = 1;
    const std::vector<machine::ProcessTree::Process> family = tree.below(guest.pid());
    counted.insert(guest.pid());
    for (const machine::ProcessTree::Process& process : family) {
      counted.insert(process.pid);
      bytes += process.stat.resident_pages * page;
      cpu_seconds += process.stat.cpu_seconds;
      processes += process.stat.state != 'Z' ? 1 : 0;
    }
    guest.note_cpu(cpu_seconds);
    if (processes <= plan_.processes && bytes <= plan_.memory_bytes) {
      continue;
    }
    guest.kill_for(processes > plan_.processes
                       ? fmt::format("more than {} processes", plan_.processes)
                       : fmt::format("more than {} MiB", plan_.memory_bytes >> 20));
    for (const machine::ProcessTree::Process& process : family) {
      kill(process.pid, SIGKILL);
    }
  }
  for (const machine::ProcessTree::Process& process : tree.below(getpid())) {
    if (!counted.contains(process.pid) && process.stat.state != 'Z') {
      kill(process.pid, SIGKILL);
    }
  }
  if (!plan_.detached && began >= summed_ + between_sums_seconds) {
    summed_ = began;
    tell_sums();
  }
  const double took = now_seconds() - began;
  look_.set(phase_ == Phase::running ? std::max(look_seconds, took / most_share_of_looking) : 0);
}

void Keeper::tell_sums() const {
  SoFar so_far;
  for (const Guest& guest : guests_) {
    const GuestAccount account = guest.account();
    so_far.cpu_ns += static_cast<std::uint64_t>((account.cpu_seconds + guest.cpu_seconds()) * 1e9);
    so_far.units = sum(so_far.units, account.units);
    so_far.running += guest.running() ? 1 : 0;
  }
  const std::string text = so_far_text(so_far);
  send(plan_.control, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Keeper::say(const std::string& line) const {
  const std::string text = remark_text(line);
  send(plan_.control, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace meantime::guest
