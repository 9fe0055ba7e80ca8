#include "core/start/python.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "deadlock/location_hook.h"

namespace meantime::core {
namespace {

struct Interpreter {
  int (*is_initialized)() = nullptr;
  void* (*state_of_this_thread)() = nullptr;
  /// Written for handlers of signals: needs no lock, takes no memory.
  void (*dump_traceback)(int descriptor, void* thread) = nullptr;
};
Interpreter python;

template <class Function>
bool find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

/// What it writes: innermost first, `  File "/home/me/script.py", line 12 in solve`.
std::string traceback() {
  void* const thread = python.is_initialized() != 0 ? python.state_of_this_thread() : nullptr;
  int ends[2];
  if (thread == nullptr || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return {};
  }
  python.dump_traceback(ends[1], thread);
  char text[4096];
  const ssize_t bytes = read(ends[0], text, sizeof text);
  close(ends[0]);
  close(ends[1]);
  return bytes > 0 ? std::string(text, static_cast<std::size_t>(bytes)) : std::string();
}

/// The same as others' locations; empty if it is no frame.
std::string location_in(std::string_view frame) {
  constexpr std::string_view before_file = "  File \"";
  constexpr std::string_view before_line = "\", line ";
  constexpr std::string_view before_function = " in ";
  const std::size_t line = frame.rfind(before_line);
  const std::size_t function = frame.rfind(before_function);
  if (!frame.starts_with(before_file) || line == std::string_view::npos ||
      function == std::string_view::npos || function < line) {
    return {};
  }
  const std::string_view file = frame.substr(before_file.size(), line - before_file.size());
  const std::size_t number = line + before_line.size();
  return fmt::format("{} ({}:{})", frame.substr(function + before_function.size()),
                     file.substr(file.rfind('/') + 1), frame.substr(number, function - number));
}

}  // namespace

void look_for_python() {
  if (find(python.is_initialized, "Py_IsInitialized") &&
      find(python.state_of_this_thread, "PyGILState_GetThisThreadState") &&
      find(python.dump_traceback, "_Py_DumpTraceback")) {
    wait::location_hook = location_in_python;
  }
}

// No name is left in the program's module, and no error shown: there may be no such stream.
void print_whole_lines_in_python() {
  int (*ensure)() = nullptr;
  void (*release)(int) = nullptr;
  int (*run)(const char*, void*) = nullptr;
  if (python.is_initialized == nullptr || python.is_initialized() == 0 ||
      !find(ensure, "PyGILState_Ensure") || !find(release, "PyGILState_Release") ||
      !find(run, "PyRun_SimpleStringFlags")) {
    return;
  }
  const int state = ensure();
  run("try:\n"
      "    __import__('sys').__stdout__.reconfigure(line_buffering=True)\n"
      "except Exception:\n"
      "    pass\n",
      nullptr);
  release(state);
}

std::string location_in_python() {
  const std::string text = traceback();
  std::string_view rest = text;
  std::string first;
  while (!rest.empty()) {
    const std::string_view frame = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(frame.size() + 1, rest.size()));
    std::string location = location_in(frame);
    if (!location.empty() && frame.find("/mpi4py/") == std::string_view::npos) {
      return location;
    }
    first = first.empty() ? location : first;
  }
  return first;
}

}  // namespace meantime::core
