// The members that this supervisor starts (mpiexec --host), if it is the hub without ranks: until
// they are there, and what becomes of the processes that were started for them.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "launch/messages.h"
#include "launch/nodes/input_process.h"
#include "launch/nodes/order.h"
#include "launch/nodes/remote_shell.h"
#include "launch/supervise/supervisor_parts.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// From the start of remote shells to what the last mpiexec says first: logging in can take long.
constexpr double coming_seconds = 60;

/// Into a file that is gone with its descriptor.
int file_of(const std::string& text) {
  const int file = memfd_create("meantime-order", MFD_CLOEXEC);
  if (file >= 0 && (!write_all(file, text) || lseek(file, 0, SEEK_SET) != 0)) {
    close(file);
    return -1;
  }
  return file;
}

}  // namespace

/// -1: it cannot be.
int Supervisor::order_for(int member) const {
  Order order;
  order.node = member;
  order.meeting = job_.meeting;
  order.nodes = job_.command.nodes;
  order.ranks = job_.command.ranks();
  order.words = job_.words;
  std::string folder(PATH_MAX, '\0');
  order.directory = getcwd(folder.data(), folder.size()) != nullptr ? folder.c_str() : "";
  for (char** variable = environ; *variable != nullptr; ++variable) {
    order.environment.emplace_back(*variable);
  }
  return file_of(text_of(order));
}

/// Before this process leaves mpiexec's process group.
bool Supervisor::start_input() {
  const int reader = job_.command.stdin_rank;
  const auto member =
      std::find_if(job_.members.begin(), job_.members.end(), [&](const Member& one) {
        return reader >= one.first_rank && reader < one.first_rank + one.ranks;
      });
  if (!job_.starts_members || member == job_.members.end()) {
    return true;
  }
  const int order = order_for(static_cast<int>(member - job_.members.begin()));
  const InputProcess input = order >= 0 ? input_behind(order) : InputProcess{};
  if (input.end < 0) {
    return cannot_start(fmt::format("cannot pass on standard input: {}", std::strerror(errno)));
  }
  close(order);
  input_process_ = input.pid;
  member->input = input.end;
  return true;
}

/// What it has not read nobody needs.
void Supervisor::end_input() {
  if (input_process_ > 0) {
    kill(input_process_, SIGKILL);
  }
}

bool Supervisor::start_members() {
  if (!job_.starts_members) {
    return true;
  }
  const std::string shell = job_.setting("MEANTIME_REMOTE_SHELL");
  for (std::size_t number = 0; number < job_.members.size(); ++number) {
    Member& member = job_.members[number];
    if (member.ranks == 0) {
      member.over = true;
      continue;
    }
    const std::vector<std::string> words =
        words_to_start_on(member.name, shell, job_.command.nodes_of_slurm);
    Spawn& child = *member_spawns_.emplace_back(std::make_unique<Spawn>());
    child.path = remote_shell_program(words);
    if (child.path.empty()) {
      return cannot_start(fmt::format(
          "cannot start ranks on '{}': there is no {} (MEANTIME_REMOTE_SHELL names another)",
          settings::shown(member.name), settings::shown(words.front())));
    }
    child.texts = words;
    for (std::string& word : child.texts) {
      child.arguments.push_back(word.data());
    }
    child.arguments.push_back(nullptr);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      child.environment.push_back(*variable);
    }
    child.environment.push_back(nullptr);
    child.signal_mask = &job_.signal_mask;
    child.descriptor_limit = starter_.descriptor_limit();
    const int input =
        member.input >= 0 ? std::exchange(member.input, -1) : order_for(static_cast<int>(number));
    child.descriptors = {{input, STDIN_FILENO}};
    const pid_t pid = input >= 0 ? spawn(child) : -errno;
    close(input);
    if (pid < 0) {
      return cannot_start(fmt::format("cannot start ranks on '{}': {}",
                                      settings::shown(member.name), std::strerror(-pid)));
    }
    member.shell = pid;
    ++running_;
    if (job_.command.verbose) {
      say("{} is pid {} ({})", member.text(), pid, settings::shown_path(child.path));
    }
  }
  members_late_.set(coming_seconds);
  return true;
}

/// A process that was started for one. True: it was.
bool Supervisor::on_shell_ended(pid_t pid, int wait_status) {
  if (pid > 0 && pid == input_process_) {
    input_process_ = -1;
    if (WIFSIGNALED(wait_status) && !members_are_over()) {
      ending_.begin(1, fmt::format("what passes standard input on was killed by {}",
                                   signal_text(WTERMSIG(wait_status))));
    }
    return true;
  }
  const auto member = std::find_if(job_.members.begin(), job_.members.end(),
                                   [&](const Member& one) { return one.shell == pid; });
  if (pid <= 0 || member == job_.members.end()) {
    return false;
  }
  --running_;
  member->shell = -1;
  on_other_nodes();  // what it has said comes before its end
  // Whose supervisor was killed: its front has said so, and ends with that status.
  const bool has_said = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 128 + SIGKILL;
  if (std::exchange(member->is_untold, false) && !has_said) {
    mention(line_of_lost(static_cast<int>(member - job_.members.begin())));
  }
  if (member->over) {
    return true;
  }
  const std::string how = fmt::format(
      "what starts mpiexec there {}",
      WIFEXITED(wait_status) ? fmt::format("ended with status {}", WEXITSTATUS(wait_status))
                             : "was killed by " + signal_text(WTERMSIG(wait_status)));
  if (member->there) {  // nobody would see what its ranks write
    ending_.begin(1, fmt::format("{} is lost: {}", member->text(), how));
    return true;
  }
  member->over = true;
  ending_.begin(
      WIFEXITED(wait_status) && WEXITSTATUS(wait_status) != 0 ? WEXITSTATUS(wait_status) : 1,
      fmt::format("cannot start ranks on {}: {}", member->text(), how));
  return true;
}

/// Members that are not there yet hear of a signal when they come. Nobody waits for them to come
/// only to end.
void Supervisor::hold_for_those_to_come(int signal) {
  const auto is_to_come = [](const Member& member) { return !member.there && !member.over; };
  if (std::none_of(job_.members.begin(), job_.members.end(), is_to_come)) {
    return;
  }
  if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) {
    held_signals_.push_back(signal);
    return;
  }
  ending_.begin(128 + signal, {});
  for (const Member& member : job_.members) {
    if (is_to_come(member) && member.shell > 0) {
      kill(member.shell, SIGTERM);
    }
  }
}

void Supervisor::on_members_late() {
  members_late_.set(0);
  if (ending_.begun()) {
    ending_.kill_all();
    running_ = 0;
    for (Member& member : job_.members) {
      if (std::exchange(member.is_untold, false)) {
        mention(line_of_lost(static_cast<int>(&member - job_.members.data())));
      }
      member.over = true;
    }
    return;
  }
  std::string missing;
  for (const Member& member : job_.members) {
    if (!member.there && !member.over) {
      missing += (missing.empty() ? "" : ", ") + member.text();
      if (member.shell > 0) {
        kill(member.shell, SIGTERM);
      }
    }
  }
  ending_.begin(1, fmt::format("nothing is heard within {} s of {}", coming_seconds, missing));
}

}  // namespace meantime::launch
