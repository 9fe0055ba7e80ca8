#include "launch/debugger.h"

#include <unistd.h>

#include <cstdlib>

namespace meantime::launch {

std::string debugger_refusal(const Job& job) {
  if (find_program("gdb").path.empty()) {
    return "--debugger gdb: gdb is not installed";
  }
  if (job.ranks.size() == 1) {
    return {};
  }
  if (std::getenv("DISPLAY") == nullptr || find_program("xterm").path.empty()) {
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
    // The window's title tells which rank it is.
    front = {
        "xterm", "-e", "sh", "-c", R"(printf '\033]0;rank %s\007' "$MEANTIME_RANK"; exec "$@")",
        "sh"};
  }
  for (const char* word : {"gdb", "--args"}) {
    front.emplace_back(word);
  }
  words.insert(words.begin(), front.begin(), front.end());
  program.path = find_program(words[0]).path;
}

}  // namespace meantime::launch
