#include "backtraces.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "launch/installation.h"

namespace meantime::tools {
namespace {

/// Each line that gdb prints; what it says about being refused goes to `problem`.
void ask_gdb(pid_t pid, const std::string& arguments, std::string& problem,
             const std::function<void(std::string_view)>& take) {
  const std::string command = fmt::format(
      "gdb -batch -nx -p {} -ex 'set pagination off' {} 2>&1 < /dev/null", pid, arguments);
  std::FILE* output = popen(command.c_str(), "re");
  if (output == nullptr) {
    return;
  }
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, output) != nullptr) {
    const std::string_view line =
        std::string_view(buffer).substr(0, std::string_view(buffer).find('\n'));
    if (line.find("ptrace") != std::string_view::npos && !line.starts_with("#")) {
      problem = line;
    }
    take(line);
  }
  pclose(output);
}

}  // namespace

std::vector<std::string> backtrace_of_process(pid_t pid, std::string& problem) {
  std::vector<std::string> lines;
  ask_gdb(pid, "-ex 'thread apply all backtrace'", problem, [&](std::string_view line) {
    if (line.starts_with("#") || line.starts_with("Thread ")) {
      lines.emplace_back(line);
    }
  });
  return lines;
}

Backtraces backtraces_of_host(pid_t host, const std::string& ranks, std::string& problem) {
  Backtraces all;
  const std::string script = launch::debugger_script();
  if (script.empty()) {
    problem = "this installation has no share/meantime/gdb/meantime.py";
    return all;
  }
  std::vector<std::string>* current = nullptr;
  ask_gdb(host, fmt::format("-x '{}' -ex 'rank apply {} backtrace'", script, ranks), problem,
          [&](std::string_view line) {
            if (line.starts_with("Rank ")) {
              current = &all[std::atoi(line.data() + 5)];
            } else if (current != nullptr && line.starts_with("#")) {
              current->emplace_back(line);
            } else if (line.starts_with("No thread ranks here")) {
              problem = line;
            }
          });
  return all;
}

}  // namespace meantime::tools
