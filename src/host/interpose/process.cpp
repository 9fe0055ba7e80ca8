// What the kernel or libc keeps for a process and a rank has of its own all the same: the working
// directory, the mask for new files, the environment.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"
#include "protocol/host_interface.h"

namespace meantime::host {
namespace {

/// The folder stays open for as long as it is the rank's.
int use_folder(int folder) {
  if (folder < 0) {
    return -1;
  }
  if (meantime_host_index() < 0) {  // another thread of the rank: has one for itself
    const int result = static_cast<int>(syscall(SYS_fchdir, own_descriptor(folder)));
    close(folder);
    return result;
  }
  if (const int error = meantime_host_set_folder(folder); error != 0) {
    close(folder);
    errno = error;
    return -1;
  }
  if (mine()->folder >= 0) {
    close(mine()->folder);
  }
  mine()->folder = folder;
  return 0;
}

/// The variables of the rank, in the form of environ; they become its own at its first change, and
/// once more where the program has put another list there itself.
std::vector<char*>& own_variables() {
  std::vector<char*>& variables = mine()->variables;
  if (variables.empty() || *mine()->environment() != variables.data()) {
    variables.clear();
    for (char** each = *mine()->environment(); each != nullptr && *each != nullptr; ++each) {
      variables.push_back(*each);
    }
    variables.push_back(nullptr);
  }
  return variables;
}

void show(std::vector<char*>& variables) {
  *mine()->environment() = variables.data();
}

bool is_named(const char* variable, const char* name, size_t length) {
  return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

char** find(std::vector<char*>& variables, const char* name, size_t length) {
  for (char*& each : variables) {
    if (each != nullptr && is_named(each, name, length)) {
      return &each;
    }
  }
  return nullptr;
}

/// `line` is NAME=VALUE and becomes part of the environment.
void put(char* line) {
  std::vector<char*>& variables = own_variables();
  if (char** place = find(variables, line, strcspn(line, "="))) {
    *place = line;
  } else {
    variables.back() = line;
    variables.push_back(nullptr);
  }
  show(variables);
}

bool is_name(const char* name) {
  return name != nullptr && *name != '\0' && strchr(name, '=') == nullptr;
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED int chdir(const char* path) noexcept {
  MEANTIME_REAL(chdir);
  return mine() == nullptr ? real(path) : use_folder(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}
MEANTIME_INTERPOSED int fchdir(int descriptor) noexcept {
  MEANTIME_REAL(fchdir);
  return mine() == nullptr ? real(descriptor) : use_folder(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}
MEANTIME_INTERPOSED mode_t umask(mode_t mask) noexcept {
  MEANTIME_REAL(umask);
  const mode_t before = real(mask);
  if (mine() != nullptr && meantime_host_index() >= 0) {
    real(before);
    mine()->file_mask = static_cast<int>(mask & 0777);
    meantime_host_set_file_mask(mine()->file_mask);
  }
  return before;
}

MEANTIME_INTERPOSED char* getenv(const char* name) noexcept {
  MEANTIME_REAL(getenv);
  if (mine() == nullptr) {
    return real(name);
  }
  const size_t length = strlen(name);
  for (char** each = *mine()->environment(); each != nullptr && *each != nullptr; ++each) {
    if (is_named(*each, name, length)) {
      return *each + length + 1;
    }
  }
  return nullptr;
}
MEANTIME_INTERPOSED char* secure_getenv(const char* name) noexcept {
  return getenv(name);
}
MEANTIME_INTERPOSED int setenv(const char* name, const char* value, int overwrite) noexcept {
  MEANTIME_REAL(setenv);
  if (mine() == nullptr) {
    return real(name, value, overwrite);
  }
  if (!is_name(name)) {
    errno = EINVAL;
    return -1;
  }
  if (overwrite != 0 || getenv(name) == nullptr) {
    // Never freed, as in libc: somebody may still have it from getenv.
    put(strdup((std::string(name) + "=" + value).c_str()));
  }
  return 0;
}
MEANTIME_INTERPOSED int unsetenv(const char* name) noexcept {
  MEANTIME_REAL(unsetenv);
  if (mine() == nullptr) {
    return real(name);
  }
  if (!is_name(name)) {
    errno = EINVAL;
    return -1;
  }
  std::vector<char*>& variables = own_variables();
  while (char** place = find(variables, name, strlen(name))) {
    variables.erase(variables.begin() + (place - variables.data()));
  }
  show(variables);
  return 0;
}
MEANTIME_INTERPOSED int putenv(char* line) noexcept {
  MEANTIME_REAL(putenv);
  if (mine() == nullptr) {
    return real(line);
  }
  if (strchr(line, '=') == nullptr) {
    return unsetenv(line);
  }
  put(line);
  return 0;
}
MEANTIME_INTERPOSED int clearenv() noexcept {
  MEANTIME_REAL(clearenv);
  if (mine() == nullptr) {
    return real();
  }
  mine()->variables.assign(1, nullptr);
  show(mine()->variables);
  return 0;
}
