#include "launch/debugger.h"

#include <unistd.h>

#include <cstdlib>

namespace meantime::launch {

namespace {

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  return resolve_program(name, "", path == nullptr ? "/usr/bin:/bin" : path).path;
}

}  // namespace

std::string debugger_refusal(const Job& job) {
  if (in_path("gdb").empty()) {
    return "--debugger gdb: gdb is not installed";
  }
  if (job.ranks.size() == 1) {
    return {};
  }
  if (std::getenv("DISPLAY") == nullptr || in_path("xterm").empty()) {
    return "--debugger gdb: several ranks need a display and xterm for their windows; without, "
           "start the job with -v and attach with gdb -p PID";
  }
  return {};
}

void put_under_debugger(const Job& job, PreparedProgram& program) {
  std::vector<std::string>& words = program.request.arguments;
  words[0] = program.path;
  std::vector<std::string> front;
  if (job.ranks.size() > 1) {
    front = {"xterm", "-e"};
  }
  for (const char* word : {"gdb", "--args"}) {
    front.emplace_back(word);
  }
  words.insert(words.begin(), front.begin(), front.end());
  program.path = in_path(words[0]);
}

}  // namespace meantime::launch
