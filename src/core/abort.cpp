#include "core/abort.h"

#include <unistd.h>

#include <string>

namespace meantime::core {

void abort_job(int code, std::string_view text) {
  if (!text.empty()) {
    const std::string line = std::string{text} + "\n";
    // One write: lines of several ranks do not mix.
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  }
  _exit((code & 0xff) == 0 ? 1 : code & 0xff);
}

}  // namespace meantime::core
