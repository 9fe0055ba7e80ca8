#include "host/interpose/open_streams.h"

#include <stdio_ext.h>

#include <algorithm>
#include <utility>

#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {

std::FILE* OpenStreams::add(std::FILE* stream) {
  const LockGuard guard(lock_);
  if (stream != nullptr) {
    all_.push_back(stream);
  }
  return stream;
}

void OpenStreams::remove(std::FILE* stream) {
  const LockGuard guard(lock_);
  all_.erase(std::remove(all_.begin(), all_.end(), stream), all_.end());
}

int OpenStreams::flush() {
  const LockGuard guard(lock_);
  int result = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (__fwriting(all_[i]) != 0 && std::fflush(all_[i]) != 0) {
      result = EOF;
    }
  }
  return result;
}

void OpenStreams::end(bool written, Descriptors& descriptors) {
  MEANTIME_REAL(fclose);
  MEANTIME_REAL_OF(fileno, real_fileno);
  const LockGuard guard(lock_);
  for (std::FILE* stream : std::exchange(all_, {})) {
    const int place = real_fileno(stream);
    // One that another thread of the rank is in (it waits for input) stays as it is.
    if (ftrylockfile(stream) != 0) {
      descriptors.give_up(descriptors.number_of(place));
      continue;
    }
    if (!written) {
      __fpurge(stream);
    }
    if (place < 0) {
      std::fflush(stream);
      funlockfile(stream);
      continue;
    }
    funlockfile(stream);
    const int number = descriptors.number_of(place);
    if (number < 3 || !descriptors.has(number)) {
      std::fflush(stream);  // the place is the rank's until all is over, or not its any more
    } else {
      descriptors.forget(number);
      real(stream);
    }
  }
}

}  // namespace meantime::host
