// What libc writes to standard error for a program: to the rank's, by the name of the rank's
// program.
#include <err.h>
#include <errno.h>
#include <error.h>
#include <execinfo.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

FILE* errors() {
  return mine() != nullptr ? mine()->standard_error() : stderr;
}

/// As it was called, or the last part of that.
const char* full_name() {
  return mine() != nullptr ? mine()->program->words[0] : program_invocation_name;
}
const char* short_name() {
  const char* const name = full_name();
  const char* const slash = strrchr(name, '/');
  return slash != nullptr ? slash + 1 : name;
}

const char* reason_of(int error, char (&room)[256]) {
  return strerror_r(error, room, sizeof room);
}

/// One piece of output, whatever the stream's buffer is.
class Whole {
 public:
  Whole() : stream_(errors()) { flockfile(stream_); }
  ~Whole() {
    fflush_unlocked(stream_);
    funlockfile(stream_);
  }
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;
  FILE* stream() const { return stream_; }

 private:
  FILE* const stream_;
};

void say_warning(const char* text, va_list more, int error, bool with_reason) {
  const Whole whole;
  char room[256];
  fprintf(whole.stream(), "%s: ", short_name());
  if (text != nullptr) {
    errno = error;  // for %m
    vfprintf(whole.stream(), text, more);
    fputs(with_reason ? ": " : "", whole.stream());
  }
  fprintf(whole.stream(), "%s\n", with_reason ? reason_of(error, room) : "");
}

void say_error(const char* file, unsigned line, int error, const char* text, va_list more) {
  const int before = errno;
  fflush(mine() != nullptr ? mine()->standard_output() : stdout);
  ++error_message_count;
  const Whole whole;
  char room[256];
  if (error_print_progname != nullptr) {
    error_print_progname();
  } else {
    fprintf(whole.stream(), file != nullptr ? "%s:" : "%s: ", full_name());
  }
  if (file != nullptr) {
    fprintf(whole.stream(), "%s:%u: ", file, line);
  }
  errno = before;
  vfprintf(whole.stream(), text, more);
  if (error != 0) {
    fprintf(whole.stream(), ": %s", reason_of(error, room));
  }
  fputc('\n', whole.stream());
}

[[noreturn]] void end_by_assertion(const char* file, unsigned line, const char* function,
                                   const char* what) {
  {
    const Whole whole;
    fprintf(whole.stream(), "%s: %s:%u: %s%s%s\n", short_name(), file, line,
            function != nullptr ? function : "", function != nullptr ? ": " : "", what);
  }
  abort();
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED void verr(int status, const char* text, va_list more) {
  say_warning(text, more, errno, true);
  exit(status);
}
MEANTIME_INTERPOSED void verrx(int status, const char* text, va_list more) {
  say_warning(text, more, errno, false);
  exit(status);
}
MEANTIME_INTERPOSED void vwarn(const char* text, va_list more) {
  say_warning(text, more, errno, true);
}
MEANTIME_INTERPOSED void vwarnx(const char* text, va_list more) {
  say_warning(text, more, errno, false);
}
MEANTIME_INTERPOSED void err(int status, const char* text, ...) {
  va_list more;
  va_start(more, text);
  verr(status, text, more);
}
MEANTIME_INTERPOSED void errx(int status, const char* text, ...) {
  va_list more;
  va_start(more, text);
  verrx(status, text, more);
}
MEANTIME_INTERPOSED void warn(const char* text, ...) {
  va_list more;
  va_start(more, text);
  vwarn(text, more);
  va_end(more);
}
MEANTIME_INTERPOSED void warnx(const char* text, ...) {
  va_list more;
  va_start(more, text);
  vwarnx(text, more);
  va_end(more);
}
MEANTIME_INTERPOSED void error(int status, int number, const char* text, ...) {
  va_list more;
  va_start(more, text);
  say_error(nullptr, 0, number, text, more);
  va_end(more);
  if (status != 0) {
    exit(status);
  }
}
MEANTIME_INTERPOSED void error_at_line(int status, int number, const char* file, unsigned line,
                                       const char* text, ...) {
  va_list more;
  va_start(more, text);
  say_error(file, line, number, text, more);
  va_end(more);
  if (status != 0) {
    exit(status);
  }
}
MEANTIME_INTERPOSED void perror(const char* prefix) {
  const int error = errno;
  const Whole whole;
  char room[256];
  const bool has_prefix = prefix != nullptr && *prefix != '\0';
  fprintf(whole.stream(), "%s%s%s\n", has_prefix ? prefix : "", has_prefix ? ": " : "",
          reason_of(error, room));
}
MEANTIME_INTERPOSED void herror(const char* prefix) noexcept {
  const Whole whole;
  const bool has_prefix = prefix != nullptr && *prefix != '\0';
  fprintf(whole.stream(), "%s%s%s\n", has_prefix ? prefix : "", has_prefix ? ": " : "",
          hstrerror(h_errno));
}
MEANTIME_INTERPOSED void psignal(int signal, const char* prefix) {
  const Whole whole;
  const bool has_prefix = prefix != nullptr && *prefix != '\0';
  fprintf(whole.stream(), "%s%s%s\n", has_prefix ? prefix : "", has_prefix ? ": " : "",
          strsignal(signal));
}
MEANTIME_INTERPOSED void backtrace_symbols_fd(void* const* addresses, int count,
                                              int number) noexcept {
  MEANTIME_REAL(backtrace_symbols_fd);
  real(addresses, count, own_descriptor(number));
}
extern "C" {
void __assert_fail(const char* what, const char* file, unsigned line,
                   const char* function) noexcept;
void __assert_perror_fail(int error, const char* file, unsigned line,
                          const char* function) noexcept;
void __assert(const char* what, const char* file, int line) noexcept;
}
MEANTIME_INTERPOSED void __assert_fail(const char* what, const char* file, unsigned line,
                                       const char* function) noexcept {
  char text[1000];
  snprintf(text, sizeof text, "Assertion `%s' failed.", what);
  end_by_assertion(file, line, function, text);
}
MEANTIME_INTERPOSED void __assert_perror_fail(int error, const char* file, unsigned line,
                                              const char* function) noexcept {
  char text[300];
  char room[256];
  snprintf(text, sizeof text, "Unexpected error: %s.", reason_of(error, room));
  end_by_assertion(file, line, function, text);
}
MEANTIME_INTERPOSED void __assert(const char* what, const char* file, int line) noexcept {
  __assert_fail(what, file, static_cast<unsigned>(line), nullptr);
}
