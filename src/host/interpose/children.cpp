// Children of a rank: their standard input, output and error are the rank's, like its working
// directory and environment, and it waits for nobody else's.
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include "host/interpose/children.h"
#include "host/interpose/offloaded.h"
#include "host/process/children.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

/// Bytes of one action. libc tells nobody; it is the distance of two that we know.
std::size_t action_bytes() {
  static const std::size_t bytes = [] {
    posix_spawn_file_actions_t two;
    posix_spawn_file_actions_init(&two);
    posix_spawn_file_actions_adddup2(&two, 0x3a51, 0x1c72);
    posix_spawn_file_actions_adddup2(&two, 0x3a51, 0x1c72);
    const auto* const begin = reinterpret_cast<const char*>(two.__actions);
    constexpr int pair[2] = {0x3a51, 0x1c72};
    std::size_t places[2] = {};
    std::size_t found = 0;
    for (std::size_t i = 0; i < 200 && found < 2; i += sizeof(int)) {
      if (memcmp(begin + i, pair, sizeof pair) == 0) {
        places[found++] = i;
      }
    }
    posix_spawn_file_actions_destroy(&two);
    return places[1] - places[0];
  }();
  return bytes;
}

/// What makes the child's descriptors the rank's, then what the program wants done to them. `pipe`:
/// among them its standard input or output, from a place that is the host's: whatever the rank has
/// by that number comes later. While there is one, the rank's descriptors stay as they are.
class Actions {
 public:
  Actions(const posix_spawn_file_actions_t* more, const ChildsPipe& pipe) {
    posix_spawn_file_actions_init(&own_);
    for (auto [number, place] : mine()->descriptors.for_child(locked_)) {
      place = number == pipe.number ? pipe.place : place;
      if (place >= 0) {
        posix_spawn_file_actions_adddup2(&own_, place, number);
      } else {
        posix_spawn_file_actions_addclose(&own_, number);
      }
    }
    all_ = own_;
    if (more == nullptr || more->__used == 0) {
      return;
    }
    const auto* const first = reinterpret_cast<const char*>(own_.__actions);
    const auto* const second = reinterpret_cast<const char*>(more->__actions);
    bytes_.assign(first, first + action_bytes() * static_cast<std::size_t>(own_.__used));
    bytes_.insert(bytes_.end(), second,
                  second + action_bytes() * static_cast<std::size_t>(more->__used));
    all_.__used = all_.__allocated = own_.__used + more->__used;
    all_.__actions = reinterpret_cast<decltype(all_.__actions)>(bytes_.data());
  }
  ~Actions() { posix_spawn_file_actions_destroy(&own_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &all_; }

 private:
  const LockGuard<Mutex> locked_{mine()->descriptors.lock()};
  posix_spawn_file_actions_t own_;
  posix_spawn_file_actions_t all_;
  std::vector<char> bytes_;
};

/// The rank's own thread has all signals blocked, which the program has never asked for.
posix_spawnattr_t with_signals(const posix_spawnattr_t* attributes) {
  posix_spawnattr_t result;
  short flags = 0;
  if (attributes != nullptr) {
    result = *attributes;
    posix_spawnattr_getflags(&result, &flags);
  } else {
    posix_spawnattr_init(&result);
  }
  if ((flags & POSIX_SPAWN_SETSIGMASK) == 0) {
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&result, &none);
    posix_spawnattr_setflags(&result, static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK));
  }
  return result;
}

/// A child inherits the CPUs of the thread that starts it, which is bound to one if it runs the
/// rank's worker or has been left to the rank by it.
class OnAnyCpu {
 public:
  OnAnyCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    sched_setaffinity(0, sizeof before_, &host_cpus());
  }
  ~OnAnyCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  OnAnyCpu(const OnAnyCpu&) = delete;
  OnAnyCpu& operator=(const OnAnyCpu&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace

int spawn_own(pid_t* child, const char* path, bool searches,
              const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
              char* const words[], char* const variables[], const ChildsPipe& pipe) {
  MEANTIME_REAL(posix_spawn);
  const posix_spawnattr_t own = with_signals(attributes);
  const Offloaded offloaded;
  const OnAnyCpu unbound;
  const Actions all(actions, pipe);
  if (!searches || strchr(path, '/') != nullptr) {
    return real(child, own_program(path), all.get(), &own, words, variables);
  }
  const char* folders = getenv("PATH");
  int result = ENOENT;
  for (const char* place = folders != nullptr ? folders : "/bin:/usr/bin"; place != nullptr;) {
    const char* const end = strchrnul(place, ':');
    const std::string folder(place, end);
    const std::string candidate = folder.empty() ? path : folder + "/" + path;
    const int error = real(child, candidate.c_str(), all.get(), &own, words, variables);
    if (error != ENOENT && error != ENOTDIR && error != EACCES) {
      return error;
    }
    result = error == EACCES ? EACCES : result;
    place = *end == ':' ? end + 1 : nullptr;
  }
  return result;
}

bool is_of_child(FILE* stream) {
  return mine() != nullptr && mine()->children.is_of_stream(stream);
}

namespace {

int run_shell(pid_t* child, const char* command, const ChildsPipe& pipe) {
  char shell[] = "sh";
  char option[] = "-c";
  char* const words[] = {shell, option, const_cast<char*>(command), nullptr};
  return spawn_own(child, "/bin/sh", false, nullptr, nullptr, words, *mine()->environment(), pipe);
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED int posix_spawn(pid_t* child, const char* path,
                                    const posix_spawn_file_actions_t* actions,
                                    const posix_spawnattr_t* attributes, char* const words[],
                                    char* const variables[]) {
  if (mine() == nullptr) {
    MEANTIME_REAL(posix_spawn);
    return real(child, path, actions, attributes, words, variables);
  }
  pid_t pid = -1;
  const int error = spawn_own(&pid, path, false, actions, attributes, words, variables);
  if (error == 0) {
    mine()->children.add(pid, nullptr);
    if (child != nullptr) {
      *child = pid;
    }
  }
  return error;
}
MEANTIME_INTERPOSED int posix_spawnp(pid_t* child, const char* path,
                                     const posix_spawn_file_actions_t* actions,
                                     const posix_spawnattr_t* attributes, char* const words[],
                                     char* const variables[]) {
  if (mine() == nullptr) {
    MEANTIME_REAL(posix_spawnp);
    return real(child, path, actions, attributes, words, variables);
  }
  pid_t pid = -1;
  const int error = spawn_own(&pid, path, true, actions, attributes, words, variables);
  if (error == 0) {
    mine()->children.add(pid, nullptr);
    if (child != nullptr) {
      *child = pid;
    }
  }
  return error;
}

MEANTIME_INTERPOSED int system(const char* command) {
  if (mine() == nullptr) {
    MEANTIME_REAL(system);
    return real(command);
  }
  if (command == nullptr) {
    return 1;
  }
  const Offloaded offloaded;
  pid_t child = -1;
  if (const int error = run_shell(&child, command, {}); error != 0) {
    errno = error;
    return -1;
  }
  int status = -1;
  while (syscall(SYS_wait4, child, &status, 0, nullptr) < 0) {
    if (errno != EINTR) {
      return -1;
    }
  }
  return status;
}

MEANTIME_INTERPOSED FILE* popen(const char* command, const char* mode) {
  if (mine() == nullptr) {
    MEANTIME_REAL(popen);
    return real(command, mode);
  }
  const bool reads = *mode == 'r';
  if ((!reads && *mode != 'w') || strspn(mode + 1, "e") != strlen(mode + 1)) {
    errno = EINVAL;
    return nullptr;
  }
  int ends[2];
  int number = -1;
  {
    const Making making;
    if (syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) {
      return nullptr;
    }
    keep_for_host(ends[reads ? 1 : 0]);
    number = own_new(ends[reads ? 0 : 1]);
  }
  pid_t child = -1;
  const int error = run_shell(&child, command, {reads ? 1 : 0, ends[reads ? 1 : 0]});
  close_for_host(ends[reads ? 1 : 0]);
  FILE* const stream = error == 0 ? fdopen(number, reads ? "r" : "w") : nullptr;
  if (stream == nullptr) {
    close(number);
    errno = error != 0 ? error : ENOMEM;
    return nullptr;
  }
  mine()->children.add(child, stream);
  return stream;
}
MEANTIME_INTERPOSED int pclose(FILE* stream) {
  if (mine() == nullptr) {
    MEANTIME_REAL(pclose);
    return real(stream);
  }
  const pid_t child = mine()->children.take_of_stream(stream);
  close_stream(stream);
  int status = -1;
  pid_t ended = -1;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  return ended < 0 ? -1 : status;
}

MEANTIME_INTERPOSED pid_t wait4(pid_t which, int* status, int flags, rusage* usage) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(wait4);
    return real(which, status, flags, usage);
  }
  return mine()->children.wait(which, status, flags, usage);
}
MEANTIME_INTERPOSED pid_t waitpid(pid_t which, int* status, int flags) {
  if (mine() == nullptr) {
    MEANTIME_REAL(waitpid);
    return real(which, status, flags);
  }
  return mine()->children.wait(which, status, flags, nullptr);
}
MEANTIME_INTERPOSED pid_t wait(int* status) {
  return waitpid(-1, status, 0);
}
MEANTIME_INTERPOSED pid_t wait3(int* status, int flags, rusage* usage) noexcept {
  return wait4(-1, status, flags, usage);
}
MEANTIME_INTERPOSED int waitid(idtype_t kind, id_t which, siginfo_t* info, int flags) {
  if (mine() == nullptr || (kind != P_ALL && kind != P_PID && kind != P_PGID)) {
    MEANTIME_REAL(waitid);
    const Offloaded offloaded;
    return real(kind, which, info, flags);
  }
  return mine()->children.wait(kind, which, info, flags);
}
