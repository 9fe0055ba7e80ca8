#include "core/start/output.h"

#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/start/python.h"

namespace meantime::core {
namespace {

/// Nobody has chosen how it buffers: it has no buffer yet, or the one that glibc would give it.
bool is_as_it_came(FILE* stream) {
  struct stat status {};
  if (fstat(fileno(stream), &status) != 0) {
    return false;  // closed
  }
  const std::size_t size = __fbufsize(stream);
  if (size == 0) {
    return true;
  }
  const auto block = static_cast<std::size_t>(status.st_blksize);
  return size == (block > 0 ? std::min<std::size_t>(block, BUFSIZ) : BUFSIZ);
}

}  // namespace

void print_whole_lines() {
  if (ftrylockfile(stdout) == 0) {
    if (is_as_it_came(stdout)) {
      setvbuf(stdout, nullptr, _IOLBF, 0);
    }
    funlockfile(stdout);
  }
  print_whole_lines_in_python();
}

}  // namespace meantime::core
