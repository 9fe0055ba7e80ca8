#include "launch/start/debugger.h"

#include <unistd.h>

#include <cstdlib>

#include "launch/start/installation.h"

namespace meantime::launch {

std::string debugger_refusal(const Job& job) {
  if (find_program("gdb").path.empty()) {
    return "--debugger gdb: gdb is not installed";
  }
  if (job.ranks.size() == 1 || (job.hosts.size() == 1 && job.all_threads())) {
    return {};
  }
  if (!job.hosts.empty()) {
    return "--debugger gdb: the thread ranks of this job are not all in one process; start it with "
           "-v and attach with gdb -p PID, or leave out what parts them (--ranks-per-process, "
           "programs with -env, -wdir or --wait of their own)";
  }
  if (std::getenv("DISPLAY") == nullptr || find_program("xterm").path.empty()) {
    return "--debugger gdb: several ranks need a display and xterm for their windows; without, "
           "start the job with -v and attach with gdb -p PID, or use --as threads";
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

void put_host_under_debugger(std::string& path, std::vector<std::string>& words) {
  words[0] = path;
  std::vector<std::string> front = {"gdb"};
  if (const std::string script = debugger_script(); !script.empty()) {
    front.insert(front.end(), {"-x", script});
  }
  front.emplace_back("--args");
  words.insert(words.begin(), front.begin(), front.end());
  path = find_program("gdb").path;
}

}  // namespace meantime::launch
