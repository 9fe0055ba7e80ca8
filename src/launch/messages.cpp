#include "launch/messages.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "settings/terminal.h"

namespace meantime::launch {

namespace {

/// Interrupts the calling thread's system calls again and again, so that none of them lasts. A poll
/// in front of a write would not do: ranks write to the same pipe. Other threads block SIGALRM.
class Interruptions {
 public:
  explicit Interruptions(double seconds) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &old_action_);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, &old_mask_);
    repeat(seconds);
  }
  ~Interruptions() {
    repeat(0);
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    sigaction(SIGALRM, &old_action_, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  static void repeat(double seconds) {
    const timeval interval{0, static_cast<suseconds_t>(seconds * 1e6)};
    const itimerval when{interval, interval};
    setitimer(ITIMER_REAL, &when, nullptr);
  }

  sigset_t old_mask_{};
  struct sigaction old_action_ {};
};

}  // namespace

namespace {

const char* speaker = "mpiexec";

}  // namespace

void speak_as(const char* name) {
  speaker = name;
}

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

namespace {

/// False, and errno, if `path` names the file that was `opened` and it can be neither removed nor
/// emptied.
bool remove_file(const struct stat& opened, const std::string& path) {
  struct stat named {};
  return lstat(path.c_str(), &named) != 0 || named.st_dev != opened.st_dev ||
         named.st_ino != opened.st_ino || unlink(path.c_str()) == 0 ||
         truncate(path.c_str(), 0) == 0;
}

}  // namespace

bool write_file(int descriptor, const std::string& path, std::string_view text) {
  struct stat opened {};
  const bool is_regular = fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode);
  int error = write_all(descriptor, text) ? 0 : errno;
  // Some file systems say only now that there is no room.
  if (close(descriptor) != 0 && error == 0 && errno != EINTR) {
    error = errno;
  }
  if (error != 0 && is_regular && !remove_file(opened, path)) {
    return false;  // errno: the file is broken for this reason, too
  }
  errno = error;
  return error == 0;
}

void remove_empty_file(int descriptor, const std::string& path) {
  struct stat opened {};
  if (fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_size == 0) {
    remove_file(opened, path);
  }
}

void write_while_read(int descriptor, std::string_view text) {
  const Interruptions interruptions(listening_seconds / 4);
  double last_read = now_seconds();
  while (!text.empty() && now_seconds() < last_read + listening_seconds) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      last_read = now_seconds();
    } else if (errno == EAGAIN) {
      pollfd ready{descriptor, POLLOUT, 0};
      poll(&ready, 1, static_cast<int>(listening_seconds * 1000));
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::string as_shown(std::string_view text) {
  return settings::laid_out(text, settings::page_of(STDERR_FILENO));
}

void mention(std::string_view text) {
  write_while_read(STDERR_FILENO, as_shown(fmt::format("{}: {}\n", speaker, text)));
}

void say(std::string_view text) {
  write_all(STDERR_FILENO, as_shown(fmt::format("{}: {}\n", speaker, text)));
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
