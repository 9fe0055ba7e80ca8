// What a program finds out about its own file: "/proc/self/exe" is the host's, and who looks for
// data beside the program by it would look beside the host. (Calls that open it:
// openers.cpp.)
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

/// As the kernel does it: no 0 at the end, and what is too long is cut off.
ssize_t give_link(const char* target, char* text, size_t bytes) {
  if (bytes == 0) {
    errno = EINVAL;
    return -1;
  }
  const size_t length = std::min(strlen(target), bytes);
  memcpy(text, target, length);
  return static_cast<ssize_t>(length);
}

/// A link that is the rank's: none of the files that it leads to.
const char* own_link(const char* path, char (&room)[32]) {
  return path != nullptr && strncmp(path, "/proc/", 6) == 0 ? own_path(path, room) : path;
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED ssize_t readlink(const char* path, char* text, size_t bytes) noexcept {
  MEANTIME_REAL(readlink);
  char room[32];
  const char* const program = own_program(path);
  return program != path ? give_link(program, text, bytes)
                         : real(own_link(path, room), text, bytes);
}
MEANTIME_INTERPOSED ssize_t readlinkat(int folder, const char* path, char* text,
                                       size_t bytes) noexcept {
  MEANTIME_REAL(readlinkat);
  char room[32];
  const char* const program = own_program(path);
  return program != path ? give_link(program, text, bytes)
                         : real(own_descriptor(folder), own_link(path, room), text, bytes);
}
MEANTIME_INTERPOSED char* realpath(const char* path, char* text) noexcept {
  MEANTIME_REAL(realpath);
  return real(own_program(path), text);
}
MEANTIME_INTERPOSED char* canonicalize_file_name(const char* path) noexcept {
  MEANTIME_REAL(canonicalize_file_name);
  return real(own_program(path));
}

// What the headers of a fortified program make of them.
extern "C" [[noreturn]] void __chk_fail() noexcept;
MEANTIME_INTERPOSED ssize_t __readlink_chk(const char* path, char* text, size_t bytes,
                                           size_t room) noexcept {
  if (room < bytes) {
    __chk_fail();
  }
  return readlink(path, text, bytes);
}
MEANTIME_INTERPOSED ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t bytes,
                                             size_t room) noexcept {
  if (room < bytes) {
    __chk_fail();
  }
  return readlinkat(folder, path, text, bytes);
}
MEANTIME_INTERPOSED char* __realpath_chk(const char* path, char* text, size_t room) noexcept {
  if (room < PATH_MAX) {
    __chk_fail();
  }
  return realpath(path, text);
}

#define LOOKS_AT(name, status_type)                                                     \
  MEANTIME_INTERPOSED int name(const char* path, struct status_type* status) noexcept { \
    MEANTIME_REAL(name);                                                                \
    char room[32];                                                                      \
    return real(own_path(path, room), status);                                          \
  }
LOOKS_AT(stat, stat)
LOOKS_AT(stat64, stat64)
// Programs of before glibc 2.33.
#define LOOKS_AT_OLD(name, status_type)                                                    \
  extern "C" int name(int version, const char* path, struct status_type* status) noexcept; \
  MEANTIME_INTERPOSED int name(int version, const char* path,                              \
                               struct status_type* status) noexcept {                      \
    MEANTIME_REAL(name);                                                                   \
    char room[32];                                                                         \
    return real(version, own_path(path, room), status);                                    \
  }
LOOKS_AT_OLD(__xstat, stat)
LOOKS_AT_OLD(__xstat64, stat64)

MEANTIME_INTERPOSED unsigned long getauxval(unsigned long type) noexcept {
  MEANTIME_REAL(getauxval);
  return mine() != nullptr && type == AT_EXECFN
             ? reinterpret_cast<unsigned long>(mine()->program->file.c_str())
             : real(type);
}
