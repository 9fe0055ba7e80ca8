#include "shim/guests.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "guest/account.h"
#include "guest/environment.h"
#include "guest/plan.h"
#include "settings/shown.h"
#include "shim/function.h"
#include "shim/host_mpi.h"
#include "shim/steal_words.h"
#include "shim/trials.h"
#include "shim/waiting.h"

namespace meantime::shim {
namespace {

/// Which rank of its node a process is: what launchers say.
constexpr const char* local_ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                       "PMIX_LOCAL_RANK", "SLURM_LOCALID", "MEANTIME_LOCAL_RANK"};

/// ... and how many these are.
constexpr const char* local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                       "SLURM_STEP_TASKS_PER_NODE"};

long ranks_of_node() {
  long ranks = 1;
  for (const char* name : local_sizes) {
    if (const char* const number = std::getenv(name)) {
      ranks = std::max(ranks, std::atol(number));
    }
  }
  return ranks;
}

int control = -1;

/// Its parents have guests.
bool was_spawned() {
  static Host get_parent("PMPI_Comm_get_parent");
  Handle parent = constants()->comm_null;
  return get_parent(&parent) == success && !is(parent, constants()->comm_null);
}

std::vector<std::string> words_of_keeper() {
  std::vector<std::string> words;
  const char* const said = std::getenv(keeper_variable);
  std::string_view text = said != nullptr ? said : "";
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(word_end));
    words.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

/// How long guests and their keeper may take for their end.
double longest_end_seconds() {
  constexpr double of_the_keeper = 8;
  std::vector<std::string> words = words_of_keeper();
  words.insert(words.begin() + 1, "control=0");
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  const auto plan = guest::Plan::of(static_cast<int>(pointers.size()), pointers.data());
  return of_the_keeper + (plan ? 2 * plan->grace_seconds : 0);
}

/// It is no child of the program's for longer than it takes to say so (Plan::detached).
bool start_keeper(int socket) {
  std::vector<std::string> words = words_of_keeper();
  const std::string path = words.front();
  words.insert(words.begin() + 1, fmt::format("control={}", socket));
  std::vector<std::string> environment = guest::environment();
  std::vector<char*> arguments;
  std::vector<char*> variables;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  for (std::string& variable : environment) {
    variables.push_back(variable.data());
  }
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  pid_t pid = -1;
  if (const int error =
          posix_spawn(&pid, path.c_str(), nullptr, nullptr, arguments.data(), variables.data());
      error != 0) {
    say(fmt::format("no guests: {}: {}", path, std::strerror(error)));
    return false;
  }
  waitpid(pid, nullptr, 0);
  return true;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format(
      "{:.0f} %",
      whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string seconds(std::uint64_t ns) {
  return fmt::format("{:.3f} s", static_cast<double>(ns) * 1e-9);
}

/// What a rank tells rank 0 at the end.
struct RankSums {
  Waited waits;
  std::uint64_t working_ns = 0;
  std::uint64_t slices = 0;
  std::uint64_t too_long = 0;
  std::uint64_t units = 0;
};

RankSums own_sums() {
  const node::GuestWork& work = function_account();
  return {waited(), work.ns, work.slices, work.too_long, work.units};
}

/// In MPI_Finalize, which all ranks call.
void tell_of_waits() {
  static Host comm_rank("PMPI_Comm_rank");
  static Host comm_size("PMPI_Comm_size");
  static Host gather("PMPI_Gather");
  const Constants& host = *constants();
  int rank = 0;
  int size = 1;
  comm_rank(host.comm_world, &rank);
  comm_size(host.comm_world, &size);
  const RankSums own = own_sums();
  std::vector<RankSums> all(rank == 0 ? static_cast<std::size_t>(size) : 0);
  constexpr int ints = sizeof(RankSums) / sizeof(int);
  if (gather(&own, ints, host.type_int, all.data(), ints, host.type_int, 0, host.comm_world) !=
          success ||
      rank != 0) {
    return;
  }
  RankSums sum;
  for (const RankSums& one : all) {
    sum.waits.ns += one.waits.ns;
    sum.waits.asleep_ns += one.waits.asleep_ns;
    sum.working_ns += one.working_ns;
    sum.slices += one.slices;
    sum.too_long += one.too_long;
    sum.units += one.units;
  }
  std::string text =
      fmt::format("{} rank{} waited for {}", size, size == 1 ? "" : "s", seconds(sum.waits.ns));
  if (std::getenv(function_variable) != nullptr) {
    text += fmt::format("; the guest function had {} of it, {}: {} slices, {} units",
                        percent(sum.working_ns, sum.waits.ns), seconds(sum.working_ns), sum.slices,
                        sum.units);
    text += sum.too_long == 0 ? "" : fmt::format(", {} slices were too long", sum.too_long);
  } else {
    text += fmt::format(", and slept for {} of it", percent(sum.waits.asleep_ns, sum.waits.ns));
  }
  text += steals_all() ? "" : "\n  (in collectives; --steal all has the other waits, too)";
  if (const std::string cost = cost_of_guests(); !cost.empty()) {
    text += "\n  " + cost;
  }
  say(text);
}

}  // namespace

void say(const std::string& text) {
  std::fprintf(stderr, "meantime steal: %s\n", settings::shown_lines(text).c_str());
}

bool is_first_of_its_node() {
  for (const char* name : local_ranks) {
    if (const char* const number = std::getenv(name)) {
      return std::strcmp(number, "0") == 0;
    }
  }
  return true;
}

bool has_guests() {
  static const bool has = has_guest_processes() || std::getenv(function_variable) != nullptr;
  return has;
}

bool has_guest_processes() {
  static const bool has = std::getenv(keeper_variable) != nullptr;
  return has;
}

bool ranks_share_cpus() {
  static const bool share = ranks_of_node() > sysconf(_SC_NPROCESSORS_ONLN);
  return share;
}

bool steals_all() {
  static const bool all = std::getenv(steal_all_variable) != nullptr;
  return all;
}

bool has_keeper() {
  return control >= 0;
}

void order(guest::Order order) {
  const char letter = static_cast<char>(order);
  send(control, &letter, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void start_guests() {
  if (was_spawned()) {
    return;
  }
  start_function();
  if (!has_guest_processes() || !is_first_of_its_node()) {
    return;
  }
  if (ranks_share_cpus()) {
    say(fmt::format(
        "{} ranks share {} CPUs: they wait as their MPI does, and guests have what that "
        "leaves",
        ranks_of_node(), sysconf(_SC_NPROCESSORS_ONLN)));
  }
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    say(fmt::format("no guests: {}", std::strerror(errno)));
    return;
  }
  const int inherited = dup(sockets[1]);  // not close-on-exec
  const bool started = start_keeper(inherited);
  close(inherited);
  close(sockets[1]);
  if (!started) {
    close(sockets[0]);
    return;
  }
  control = sockets[0];
  // The end of the last copy tells the keeper that the rank is gone. (Once a process: the child's
  // children have others' files under that number.)
  pthread_atfork(nullptr, nullptr, [] { close(std::exchange(control, -1)); });
  order(guest::Order::begin);
}

void end_guests() {
  if (has_guests() && constants() != nullptr && !was_spawned()) {
    end_trials();
    finish_function();
    tell_of_waits();
  }
  if (control < 0) {
    return;
  }
  order(guest::Order::end);
  guest::Listener listener;
  char text[4096];
  // A keeper that somebody has stopped must not keep the program.
  const double until = now_seconds() + longest_end_seconds();
  pollfd said{control, POLLIN, 0};
  for (double left = 0; (left = until - now_seconds()) > 0;) {
    const int ready = poll(&said, 1, static_cast<int>(left * 1e3) + 1);
    const ssize_t bytes = ready > 0 ? recv(control, text, sizeof text, MSG_DONTWAIT) : -1;
    if (bytes > 0) {
      listener.hear({text, static_cast<std::size_t>(bytes)}, say);
    } else if (bytes == 0) {
      break;
    }
  }
  close(control);
  control = -1;
  if (listener.account().guests.empty()) {
    say("what guests had is not known: their keeper did not tell in time");
    return;
  }
  say(guest::account_for_people(listener.account()));
}

}  // namespace meantime::shim
