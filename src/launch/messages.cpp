#include "launch/messages.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace meantime::launch {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      // A shell or a rank may have made the shared terminal or pipe non-blocking.
      pollfd ready{descriptor, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void say(std::string_view text) {
  write_all(STDERR_FILENO, fmt::format("mpiexec: {}\n", text));
}

std::string signal_text(int signal) {
  const char* name = sigdescr_np(signal);
  return name != nullptr ? fmt::format("signal {} ({})", signal, name)
                         : fmt::format("signal {}", signal);
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace meantime::launch
