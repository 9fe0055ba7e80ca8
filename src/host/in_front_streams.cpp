// Standard streams and the descriptors 0, 1 and 2 of a rank. libc's functions without a stream
// argument use libc's one stdout, so they have others in front of them; and what a rank calls
// descriptor 1 is another number in its host.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>

#include "host/own_descriptor.h"
#include "host/rank_state.h"

namespace meantime::host {
namespace {

FILE* input() {
  return mine() != nullptr ? mine()->standard_input() : stdin;
}
FILE* output() {
  return mine() != nullptr ? mine()->standard_output() : stdout;
}
FILE* errors() {
  return mine() != nullptr ? mine()->standard_error() : stderr;
}

}  // namespace

int own_descriptor(int descriptor) {
  return static_cast<unsigned>(descriptor) < 3 && mine() != nullptr
             ? mine()->descriptors[descriptor]
             : descriptor;
}

}  // namespace meantime::host

using namespace meantime::host;

extern "C" {
int __vfprintf_chk(FILE*, int, const char*, va_list);
int __vfwprintf_chk(FILE*, int, const wchar_t*, va_list);
int __vdprintf_chk(int, int, const char*, va_list);
}

// One line a function: each is libc's with the rank's stream.
#define PRINTS(name, flag, text, call) \
  MEANTIME_IN_FRONT int name {         \
    va_list more;                      \
    va_start(more, text);              \
    const int result = call;           \
    va_end(more);                      \
    return result;                     \
  }
PRINTS(printf(const char* text, ...), 0, text, vfprintf(output(), text, more))
PRINTS(__printf_chk(int flag, const char* text, ...), flag, text,
       __vfprintf_chk(output(), flag, text, more))
PRINTS(wprintf(const wchar_t* text, ...), 0, text, vfwprintf(output(), text, more))
PRINTS(__wprintf_chk(int flag, const wchar_t* text, ...), flag, text,
       __vfwprintf_chk(output(), flag, text, more))
// <stdio.h> gives these the names of C99's variants (__isoc99_scanf); older programs want the
// others.
PRINTS(scanf(const char* text, ...), 0, text, vfscanf(input(), text, more))
PRINTS(wscanf(const wchar_t* text, ...), 0, text, vfwscanf(input(), text, more))
MEANTIME_IN_FRONT int old_scanf(const char* text, ...) __asm__("scanf");
PRINTS(old_scanf(const char* text, ...), 0, text, vfscanf(input(), text, more))
PRINTS(dprintf(int descriptor, const char* text, ...), 0, text,
       vdprintf(own_descriptor(descriptor), text, more))
PRINTS(__dprintf_chk(int descriptor, int flag, const char* text, ...), flag, text,
       __vdprintf_chk(own_descriptor(descriptor), flag, text, more))

MEANTIME_IN_FRONT int vprintf(const char* text, va_list more) {
  return vfprintf(output(), text, more);
}
MEANTIME_IN_FRONT int __vprintf_chk(int flag, const char* text, va_list more) {
  return __vfprintf_chk(output(), flag, text, more);
}
MEANTIME_IN_FRONT int vwprintf(const wchar_t* text, va_list more) {
  return vfwprintf(output(), text, more);
}
MEANTIME_IN_FRONT int vscanf(const char* text, va_list more) {
  return vfscanf(input(), text, more);
}
MEANTIME_IN_FRONT int puts(const char* text) {
  FILE* const stream = output();
  flockfile(stream);
  const bool written = fputs(text, stream) >= 0 && putc_unlocked('\n', stream) >= 0;
  funlockfile(stream);
  return written ? 1 : EOF;
}
MEANTIME_IN_FRONT int putchar(int character) {
  return putc(character, output());
}
MEANTIME_IN_FRONT int putchar_unlocked(int character) {
  return putc_unlocked(character, output());
}
MEANTIME_IN_FRONT wint_t putwchar(wchar_t character) {
  return putwc(character, output());
}
MEANTIME_IN_FRONT int getchar() {
  return getc(input());
}
MEANTIME_IN_FRONT int getchar_unlocked() {
  return getc_unlocked(input());
}
MEANTIME_IN_FRONT wint_t getwchar() {
  return getwc(input());
}
MEANTIME_IN_FRONT void perror(const char* prefix) {
  char buffer[256];
  const char* const reason = strerror_r(errno, buffer, sizeof buffer);
  if (prefix != nullptr && *prefix != '\0') {
    fprintf(errors(), "%s: %s\n", prefix, reason);
  } else {
    fprintf(errors(), "%s\n", reason);
  }
}

// Descriptors. What may sleep is in in_front_blocking.cpp.

MEANTIME_IN_FRONT int close(int descriptor) {
  MEANTIME_REAL(close);
  const int result = real(own_descriptor(descriptor));
  if (result == 0 && own_descriptor(descriptor) != descriptor) {
    mine()->descriptors[descriptor] = -1;
  }
  return result;
}

MEANTIME_IN_FRONT int dup(int descriptor) noexcept {
  MEANTIME_REAL(dup);
  return real(own_descriptor(descriptor));
}

namespace {

int duplicate(int from, int to, int flags, int (*real)(int, int, int)) {
  if (static_cast<unsigned>(to) >= 3 || mine() == nullptr) {
    return real(own_descriptor(from), to, flags);
  }
  int& own = mine()->descriptors[to];
  const int source = own_descriptor(from);
  const int place = own >= 0 ? real(source, own, flags) : fcntl(source, F_DUPFD, 100);
  if (place < 0) {
    return -1;
  }
  own = place;
  return to;
}

}  // namespace

MEANTIME_IN_FRONT int dup2(int from, int to) noexcept {
  return duplicate(from, to, 0, [](int source, int place, int) {
    MEANTIME_REAL(dup2);
    return real(source, place);
  });
}
MEANTIME_IN_FRONT int dup3(int from, int to, int flags) noexcept {
  return duplicate(from, to, flags, [](int source, int place, int how) {
    MEANTIME_REAL(dup3);
    return real(source, place, how);
  });
}
MEANTIME_IN_FRONT int isatty(int descriptor) noexcept {
  MEANTIME_REAL(isatty);
  return real(own_descriptor(descriptor));
}
MEANTIME_IN_FRONT int fsync(int descriptor) {
  MEANTIME_REAL(fsync);
  return real(own_descriptor(descriptor));
}
MEANTIME_IN_FRONT FILE* fdopen(int descriptor, const char* mode) noexcept {
  MEANTIME_REAL(fdopen);
  return real(own_descriptor(descriptor), mode);
}
MEANTIME_IN_FRONT int fstat(int descriptor, struct stat* status) noexcept {
  MEANTIME_REAL(fstat);
  return real(own_descriptor(descriptor), status);
}
MEANTIME_IN_FRONT int fstat64(int descriptor, struct stat64* status) noexcept {
  MEANTIME_REAL(fstat64);
  return real(own_descriptor(descriptor), status);
}
MEANTIME_IN_FRONT off_t lseek(int descriptor, off_t offset, int whence) noexcept {
  MEANTIME_REAL(lseek);
  return real(own_descriptor(descriptor), offset, whence);
}
MEANTIME_IN_FRONT off64_t lseek64(int descriptor, off64_t offset, int whence) noexcept {
  MEANTIME_REAL(lseek64);
  return real(own_descriptor(descriptor), offset, whence);
}
namespace {

/// Record locks belong to a process; those of an open file belong to whoever opened it, which a
/// rank does for itself.
int own_lock(int command, void* argument) {
  if (mine() == nullptr) {
    return command;
  }
  if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) {
    static_cast<struct flock*>(argument)->l_pid = 0;  // the kernel insists
  }
  switch (command) {
    case F_SETLK:
      return F_OFD_SETLK;
    case F_SETLKW:
      return F_OFD_SETLKW;
    case F_GETLK:
      return F_OFD_GETLK;
    default:
      return command;
  }
}

}  // namespace

MEANTIME_IN_FRONT int fcntl(int descriptor, int command, ...) {
  MEANTIME_REAL(fcntl);
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return real(own_descriptor(descriptor), own_lock(command, argument), argument);
}
MEANTIME_IN_FRONT int fcntl64(int descriptor, int command, ...) {
  MEANTIME_REAL(fcntl64);
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return real(own_descriptor(descriptor), own_lock(command, argument), argument);
}
MEANTIME_IN_FRONT int ioctl(int descriptor, unsigned long request, ...) noexcept {
  MEANTIME_REAL(ioctl);
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return real(own_descriptor(descriptor), request, argument);
}
