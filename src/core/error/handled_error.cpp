#include "core/error/handled_error.h"

#include <fmt/format.h>

namespace meantime::core {
namespace {

/// Of the thread, so of a rank alone: each thread rank has thread-local variables of its own. It
/// goes before atexit handlers run, which may call MPI.
constinit thread_local bool gone = false;
struct Handled {
  Handled() = default;
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;
  ~Handled() { gone = true; }
  int code = 0;
  std::string text;
};
thread_local Handled last;

}  // namespace

void keep_handled_error(int code, std::string_view call, std::string_view text) {
  if (gone) {
    return;
  }
  last.code = code;
  last.text.clear();
  if (!text.empty()) {
    last.text = fmt::format("{}: {}", call, text);
  }
}

std::string handled_error(int code) {
  return !gone && last.code == code ? last.text : std::string();
}

}  // namespace meantime::core
