#include "backtraces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "launch/start/installation.h"

namespace meantime::tools {
namespace {

/// Each line that gdb prints; what it says about being refused goes to `problem`.
void ask_gdb(const std::string& arguments, std::string& problem,
             const std::function<void(std::string_view)>& take) {
  const std::string command =
      fmt::format("gdb -batch -nx -ex 'set pagination off' {} 2>&1 < /dev/null", arguments);
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

/// The processes are gdb's inferiors from 2 on.
void ask_about(const pid_t* pids, std::size_t count, Backtraces& all, std::string& problem) {
  std::string arguments;
  for (std::size_t index = 0; index < count; ++index) {
    arguments +=
        fmt::format("-ex add-inferior -ex 'inferior {}' -ex 'attach {}' ", index + 2, pids[index]);
  }
  std::vector<std::string>* current = nullptr;
  ask_gdb(arguments + "-ex 'thread apply all backtrace'", problem, [&](std::string_view line) {
    if (line.starts_with("Thread ")) {
      // "Thread 2.1 (Thread 0x7f… (LWP 17) …)": without the inferior's number.
      const std::string_view number = line.substr(7);
      const auto inferior = static_cast<std::size_t>(std::atoi(number.data()));
      const std::size_t dot = number.find('.');
      current = inferior >= 2 && inferior < count + 2 && dot != std::string_view::npos
                    ? &all[pids[inferior - 2]]
                    : nullptr;
      if (current != nullptr) {
        current->push_back(fmt::format("Thread {}", number.substr(dot + 1)));
      }
    } else if (current != nullptr && line.starts_with("#")) {
      current->emplace_back(line);
    }
  });
}

/// "MPI_Recv" of "#4  0x00007f… in MPI_Recv (buf=…", or of "#0  MPI_Recv (".
std::string_view function_of(std::string_view frame) {
  const std::size_t number = std::min(frame.find(' '), frame.size());
  frame.remove_prefix(std::min(frame.find_first_not_of(' ', number), frame.size()));
  if (frame.starts_with("0x")) {
    const std::size_t in = frame.find(" in ");
    frame.remove_prefix(in == std::string_view::npos ? 0 : in + 4);
  }
  return frame.substr(0, frame.find_first_of(" (", 1));
}

/// Where " at FILE" of a frame begins, if FILE is a source of Meantime in `folder`; else npos. gdb
/// names it as the compiler was given it: from the root, or, where ccache shortens paths, from the
/// build.
std::size_t own_source(std::string_view frame, std::string_view folder = "src/") {
  for (const std::string_view root :
       {std::string_view(MEANTIME_SOURCE_ROOT "/"), std::string_view("../../")}) {
    const std::size_t at = frame.find(fmt::format(" at {}{}", root, folder));
    if (at != std::string_view::npos) {
      return at;
    }
  }
  return std::string_view::npos;
}

/// What an entry point becomes that goes straight on to it (MPI_Wtime).
constexpr std::string_view of_api = "meantime::api::";

bool is_mpi_call(std::string_view function) {
  return function.starts_with("MPI_") || function.starts_with("PMPI_") ||
         function.starts_with("MPIX_");
}

/// Of Meantime, of libc, or the kernel's in the process.
bool is_inside(std::string_view frame) {
  const auto has = [frame](std::string_view text) {
    return frame.find(text) != std::string_view::npos;
  };
  return has("meantime::") || own_source(frame) != std::string_view::npos || has("libmpi_abi.so") ||
         has(" at ../sysdeps/") || has("libc.so") || has("libc-") || has(" clock_gettime ()");
}

/// What a host of thread ranks calls main by, and what calls that.
bool is_before_main(std::string_view frame) {
  return own_source(frame, "src/host/") != std::string_view::npos || function_of(frame) == "_start";
}

}  // namespace

Backtraces backtraces_of_processes(const std::vector<pid_t>& pids, std::string& problem) {
  constexpr std::size_t most_at_once = 128;  // the command is one argument of a shell
  Backtraces all;
  for (std::size_t first = 0; first < pids.size(); first += most_at_once) {
    ask_about(pids.data() + first, std::min(most_at_once, pids.size() - first), all, problem);
  }
  return all;
}

std::vector<std::string> frames_of_program(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  std::size_t thread = 0;  // where the frames of this one begin
  for (const std::string& line : lines) {
    if (line.starts_with("#") && is_before_main(line)) {
      continue;
    }
    if (!line.starts_with("#")) {
      thread = result.size() + 1;
    } else if (is_mpi_call(function_of(line)) || function_of(line).starts_with(of_api)) {
      const auto inner =
          result.begin() + static_cast<std::ptrdiff_t>(std::min(thread, result.size()));
      result.erase(std::remove_if(inner, result.end(), is_inside), result.end());
    }
    result.push_back(is_mpi_call(function_of(line)) ? line.substr(0, own_source(line)) : line);
  }
  for (std::string& line : result) {
    if (const std::string_view function = function_of(line); function.starts_with(of_api)) {
      line = fmt::format("{} MPI_{} ()", line.substr(0, line.find(' ')),
                         function.substr(of_api.size()));
    }
  }
  return result;
}

std::vector<std::string> places_alone(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    if (!line.starts_with("#")) {
      result.push_back(line.substr(0, line.find(" (")));
      continue;
    }
    const std::size_t after = std::min(line.find(") at "), line.find(") from "));
    std::string_view function = function_of(line);
    function.remove_prefix(function.starts_with("PMPI_") ? 1 : 0);  // both are one function
    result.push_back(fmt::format("{} {}{}", line.substr(0, line.find(' ')), function,
                                 after == std::string::npos ? "" : line.substr(after + 1)));
  }
  return result;
}

Backtraces backtraces_of_host(pid_t host, const std::string& ranks, std::string& problem) {
  Backtraces all;
  const std::string script = launch::debugger_script();
  if (script.empty()) {
    problem = "this installation has no share/meantime/gdb/meantime.py";
    return all;
  }
  std::vector<std::string>* current = nullptr;
  ask_gdb(fmt::format("-p {} -x '{}' -ex 'rank apply {} backtrace'", host, script, ranks), problem,
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
