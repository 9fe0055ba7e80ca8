#include "launch/thread_ranks/host_trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "launch/start/installation.h"
#include "protocol/host_words.h"

namespace meantime::launch {
namespace {

/// It takes a few milliseconds; on a file system that hangs somebody would rather know.
constexpr int most_ms = 60'000;

/// All that comes out of it until it ends.
std::string read_all(int end, bool& late) {
  std::string text;
  char bytes[1024];
  for (;;) {
    pollfd look{end, POLLIN, 0};
    const int ready = poll(&look, 1, most_ms);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    late = ready == 0;
    const ssize_t got = ready > 0 ? read(end, bytes, sizeof bytes) : 0;
    if (got <= 0) {
      return text;
    }
    text.append(bytes, static_cast<std::size_t>(got));
  }
}

std::vector<std::string> environment_with(const std::string& library_path) {
  constexpr std::string_view variable = "LD_LIBRARY_PATH=";
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with(variable)) {
      variables.emplace_back(*each);
    }
  }
  if (!library_path.empty()) {
    variables.push_back(std::string(variable) + library_path);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// What the trial wrote. Empty `why`: it came to its end.
std::string run_trial(const std::string& path, const std::string& library_path, std::string& why) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    why = fmt::format("it cannot be tried: {}", std::strerror(errno));
    return {};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> words = {"meantime-host", trial_word, path};
  std::vector<std::string> variables = environment_with(library_path);
  pid_t child = -1;
  const int error = posix_spawn(&child, host_program().c_str(), &actions, nullptr,
                                pointers_to(words).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    why = fmt::format("it cannot be tried: {}", std::strerror(error));
    return {};
  }
  bool late = false;
  std::string text = read_all(ends[0], late);
  close(ends[0]);
  if (late) {
    kill(child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) {
    why = fmt::format("it is not loaded after {} s", most_ms / 1000);
    return text;
  }
  if (status == 0) {
    return text;
  }
  text.resize(std::min(text.size(), text.find('\n')));
  if (text.empty()) {
    text = WIFSIGNALED(status)
               ? fmt::format("the linker was killed by signal {} over it", WTERMSIG(status))
               : fmt::format("the host ended with status {}", WEXITSTATUS(status));
  }
  why = text;
  return text;
}

}  // namespace

std::string try_to_load(const std::string& path, const std::string& library_path) {
  std::string why;
  run_trial(path, library_path, why);
  return why;
}

TrialMaps try_for_maps(const std::string& path, const std::string& library_path) {
  std::string why;
  const std::string text = run_trial(path, library_path, why);
  TrialMaps maps;
  if (!why.empty() || std::sscanf(text.c_str(), "%ld %ld", &maps.of_a_rank, &maps.others) != 2) {
    return {};
  }
  return maps;
}

}  // namespace meantime::launch
