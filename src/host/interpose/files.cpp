// Streams and folders that a rank opens and closes: they are on descriptors of its own, and go when
// it ends.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <unistd.h>

#include "host/interpose/children.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

int place_of(FILE* stream) {
  MEANTIME_REAL(fileno);
  const int error = errno;
  const int place = real(stream);
  errno = error;
  return place;
}

/// libc has just made it.
FILE* own_new_stream(FILE* stream) {
  if (stream == nullptr || mine() == nullptr) {
    return stream;
  }
  if (const int place = place_of(stream); place >= 0) {
    stream->_fileno = own_descriptor(own_new(place));
  }
  return mine()->streams.add(stream);
}

/// Whoever closes a descriptor behind its stream's back has another rank's there, perhaps.
void loosen_if_stale(FILE* stream, int number) {
  if (number >= 0 && !mine()->descriptors.has(number)) {
    stream->_fileno = -1;
  }
}

template <typename Real>
FILE* reopen(Real* real, const char* path, const char* mode, FILE* stream) {
  if (mine() == nullptr) {
    return real(path, mode, stream);
  }
  Descriptors& descriptors = mine()->descriptors;
  const int number = own_number(place_of(stream));
  loosen_if_stale(stream, number);
  const bool had_one = stream->_fileno >= 0;
  char room[32];
  const Making making;
  FILE* const result = real(own_path(path, room), mode, stream);
  if (number >= 0 && number < 3) {
    descriptors.standard_is(number, result != nullptr);
  } else if (result == nullptr) {
    forget_own(number);
  } else if (!had_one) {
    result->_fileno = own_descriptor(own_new(place_of(result)));
  }
  if (result == nullptr) {
    mine()->streams.remove(stream);
  }
  return result;
}

}  // namespace

int close_stream(FILE* stream) {
  MEANTIME_REAL(fclose);
  const int place = place_of(stream);
  if (mine() == nullptr) {
    forget_own(place);
    return real(stream);
  }
  const int number = own_number(place);
  mine()->streams.remove(stream);
  loosen_if_stale(stream, number);
  if (number < 0 || number >= 3) {
    forget_own(number);
    return real(stream);
  }
  // Its place stays the rank's: the stream closes another descriptor of the same file.
  if (const int other = fcntl(number, F_DUPFD_CLOEXEC, 3); other >= 0) {
    stream->_fileno = own_descriptor(other);
    forget_own(other);
  }
  const int result = real(stream);
  mine()->descriptors.standard_is(number, false);
  return result;
}

}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED FILE* fopen(const char* path, const char* mode) {
  MEANTIME_REAL(fopen);
  char room[32];
  const Making making;
  return own_new_stream(real(own_path(path, room), mode));
}
MEANTIME_INTERPOSED FILE* fopen64(const char* path, const char* mode) {
  MEANTIME_REAL(fopen64);
  char room[32];
  const Making making;
  return own_new_stream(real(own_path(path, room), mode));
}
MEANTIME_INTERPOSED FILE* freopen(const char* path, const char* mode, FILE* stream) {
  MEANTIME_REAL(freopen);
  return reopen(real, path, mode, stream);
}
MEANTIME_INTERPOSED FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  MEANTIME_REAL(freopen64);
  return reopen(real, path, mode, stream);
}
MEANTIME_INTERPOSED FILE* fdopen(int number, const char* mode) noexcept {
  MEANTIME_REAL(fdopen);
  FILE* const stream = real(own_descriptor(number), mode);
  return mine() != nullptr ? mine()->streams.add(stream) : stream;
}
MEANTIME_INTERPOSED FILE* tmpfile() {
  MEANTIME_REAL(tmpfile);
  const Making making;
  return own_new_stream(real());
}
MEANTIME_INTERPOSED FILE* tmpfile64() {
  MEANTIME_REAL(tmpfile64);
  const Making making;
  return own_new_stream(real());
}
MEANTIME_INTERPOSED FILE* fmemopen(void* bytes, size_t count, const char* mode) noexcept {
  MEANTIME_REAL(fmemopen);
  return own_new_stream(real(bytes, count, mode));
}
MEANTIME_INTERPOSED FILE* open_memstream(char** bytes, size_t* count) noexcept {
  MEANTIME_REAL(open_memstream);
  return own_new_stream(real(bytes, count));
}
MEANTIME_INTERPOSED FILE* fopencookie(void* cookie, const char* mode,
                                      cookie_io_functions_t functions) noexcept {
  MEANTIME_REAL(fopencookie);
  return own_new_stream(real(cookie, mode, functions));
}
MEANTIME_INTERPOSED int fclose(FILE* stream) {
  return is_of_child(stream) ? pclose(stream) : close_stream(stream);
}
MEANTIME_INTERPOSED int fcloseall() {
  if (mine() == nullptr) {
    MEANTIME_REAL(fcloseall);
    return real();
  }
  mine()->streams.end(true, mine()->descriptors);
  return 0;
}
MEANTIME_INTERPOSED int fflush(FILE* stream) {
  MEANTIME_REAL(fflush);
  return stream == nullptr && mine() != nullptr ? mine()->streams.flush() : real(stream);
}
MEANTIME_INTERPOSED int fflush_unlocked(FILE* stream) {
  MEANTIME_REAL(fflush_unlocked);
  return stream == nullptr && mine() != nullptr ? mine()->streams.flush() : real(stream);
}
MEANTIME_INTERPOSED int fileno(FILE* stream) noexcept {
  MEANTIME_REAL(fileno);
  return own_number(real(stream));
}
MEANTIME_INTERPOSED int fileno_unlocked(FILE* stream) noexcept {
  MEANTIME_REAL(fileno_unlocked);
  return own_number(real(stream));
}

MEANTIME_INTERPOSED DIR* opendir(const char* path) {
  MEANTIME_REAL(opendir);
  MEANTIME_REAL_OF(dirfd, real_dirfd);
  const Making making;
  DIR* const folder = real(path);
  if (folder == nullptr || mine() == nullptr) {
    return folder;
  }
  const int number = own_new(real_dirfd(folder));
  if (number == real_dirfd(folder)) {
    return folder;
  }
  // Standard input was closed, or the like: the folder is at that number now.
  return fdopendir(number);
}
MEANTIME_INTERPOSED DIR* fdopendir(int number) {
  MEANTIME_REAL(fdopendir);
  return real(own_descriptor(number));
}
MEANTIME_INTERPOSED int dirfd(DIR* folder) noexcept {
  MEANTIME_REAL(dirfd);
  return own_number(real(folder));
}
MEANTIME_INTERPOSED int closedir(DIR* folder) {
  MEANTIME_REAL(closedir);
  const int number = dirfd(folder);
  if (mine() != nullptr && number >= 0 && number < 3) {
    const int result = real(folder);
    mine()->descriptors.standard_is(number, false);
    return result;
  }
  forget_own(number);
  return real(folder);
}
