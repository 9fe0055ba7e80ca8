#include "core/start/output.h"

#include <sys/stat.h>

#include <cstdio>

#include "core/start/python.h"

namespace meantime::core {
namespace {

/// Nobody has brought a buffer for it, or none. (glibc's libio.h: _IO_USER_BUF, _IO_UNBUFFERED.)
bool is_as_it_came(FILE* stream) {
  constexpr int user_buffer = 1;
  constexpr int unbuffered = 2;
  struct stat status {};
  return fstat(fileno(stream), &status) == 0 && (stream->_flags & (user_buffer | unbuffered)) == 0;
}

}  // namespace

void print_whole_lines() {
  if (ftrylockfile(stdout) == 0) {
    if (is_as_it_came(stdout)) {
      fflush_unlocked(stdout);  // what was printed before
      setvbuf(stdout, nullptr, _IOLBF, 0);
    }
    funlockfile(stdout);
  }
  print_whole_lines_in_python();
}

}  // namespace meantime::core
