#include "symbolize/source_location.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "elf/elf_file.h"

namespace meantime::launch {
namespace {

/// The most offsets for one command line.
constexpr std::size_t most_words = 1000;

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// False if there is still nothing to read when it is time to stop.
bool readable_before(int descriptor, double end) {
  for (;;) {
    const double left = end - now_seconds();
    pollfd news{descriptor, POLLIN, 0};
    const int count = poll(&news, 1, std::max(0, static_cast<int>(left * 1e3)));
    if (count >= 0 || errno != EINTR) {
      return count > 0;
    }
  }
}

/// What a command writes, without its complaints; empty if it cannot be run, or not in time.
std::string output_of(const std::vector<std::string>& words, double end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {};
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), __environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (error == 0) {
    char buffer[4096];
    for (ssize_t got = 1; got != 0;) {
      if (!readable_before(ends[0], end)) {
        kill(pid, SIGKILL);
        text.clear();
        break;
      }
      got = read(ends[0], buffer, sizeof buffer);
      if (got > 0) {
        text.append(buffer, static_cast<std::size_t>(got));
      } else if (got < 0 && errno != EINTR) {
        break;
      }
    }
    waitpid(pid, nullptr, 0);
  }
  close(ends[0]);
  return text;
}

/// "/home/me/solver.c:12 (discriminator 3)" → "solver.c:12"; empty if it is "??:0".
std::string short_source(const std::string& line) {
  const std::string source = base_name(line.substr(0, line.find(" (")));
  return source.starts_with("??") || source.ends_with(":?") || source.ends_with(":0") ? "" : source;
}

SourceLocation unnamed(const CodeAddress& address) {
  return {"", "",
          address.file.empty() ? fmt::format("{:#x}", address.offset)
                               : fmt::format("{}+{:#x}", base_name(address.file), address.offset)};
}

/// What compilers append to a procedure inside of another one ("exch.0"), or to a part or a variant
/// of a function ("solve.part.0"), goes.
std::string without_suffixes(std::string function) {
  for (std::size_t dot; (dot = function.rfind('.')) != std::string::npos && dot > 0;) {
    const std::string_view last = std::string_view(function).substr(dot + 1);
    if (last.find_first_not_of("0123456789") != std::string_view::npos && last != "part" &&
        last != "constprop" && last != "isra" && last != "cold" && last != "lto_priv") {
      break;
    }
    function.resize(dot);
  }
  return function;
}

/// "(anonymous namespace)::solve(int, double)" → "solve", and "void call<void (*)()>(void (*)())" →
/// "void call<void (*)()>"
std::string short_function(std::string function) {
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = function.find(anonymous)) != std::string::npos;) {
    function.erase(at, anonymous.size());
  }
  int depth = 0;
  for (std::size_t at = 1; at < function.size(); ++at) {
    const char before = function[at - 1];
    depth += before == '<' || before == '{' ? 1 : before == '>' || before == '}' ? -1 : 0;
    if (function[at] == '(' && depth <= 0) {
      function.resize(at);
      break;
    }
  }
  return without_suffixes(std::move(function));
}

void name_those_of(const std::string& file, const std::vector<CodeAddress>& addresses,
                   std::map<CodeAddress, SourceLocation>& names, double end) {
  std::vector<std::string> words = {"addr2line", "-C", "-f", "-e", file};
  for (const CodeAddress& address : addresses) {
    words.push_back(fmt::format("{:#x}", address.offset));
  }
  std::istringstream lines(output_of(words, end));
  ElfFile elf;
  const bool readable = elf.open(file);
  std::string function;
  std::string source;
  for (const CodeAddress& address : addresses) {
    if (!std::getline(lines, function) || !std::getline(lines, source)) {
      return;
    }
    if (function.empty() || function.starts_with("??")) {
      continue;
    }
    SourceLocation& name = names[address];
    const std::string known_source = short_source(source);
    if (known_source.empty() && !(readable && elf.in_function(address.offset))) {
      continue;  // without debug info addr2line guesses: the nearest symbol before it
    }
    name.function = short_function(function);
    name.source = known_source;
    name.text = name.source.empty()
                    ? fmt::format("{} ({}+{:#x})", name.function, base_name(file), address.offset)
                    : fmt::format("{} ({})", name.function, name.source);
  }
}

}  // namespace

std::map<CodeAddress, SourceLocation> symbolize(const std::vector<CodeAddress>& addresses,
                                                double seconds) {
  const double give_up = now_seconds() + seconds;
  std::map<CodeAddress, SourceLocation> names;
  // Libraries last, if there is no time for all: their sources are seldom the user's.
  std::map<std::pair<bool, std::string>, std::vector<CodeAddress>> by_file;
  for (const CodeAddress& address : addresses) {
    if (names.emplace(address, unnamed(address)).second && !address.file.empty()) {
      const std::string name = base_name(address.file);
      const bool is_library = name.ends_with(".so") || name.find(".so.") != std::string::npos;
      by_file[{is_library, address.file}].push_back(address);
    }
  }
  for (const auto& [key, those] : by_file) {
    const std::string& file = key.second;
    for (std::size_t begin = 0; begin < those.size() && now_seconds() < give_up;
         begin += most_words) {
      const std::size_t end = std::min(begin + most_words, those.size());
      name_those_of(
          file, {those.begin() + static_cast<long>(begin), those.begin() + static_cast<long>(end)},
          names, give_up);
    }
  }
  return names;
}

}  // namespace meantime::launch
