// The streams that a rank has open: at its end they are written out and closed, and fflush(NULL) is
// about them. libc has one list for the process.
#pragma once

#include <cstdio>
#include <vector>

#include "base/lock.h"

namespace meantime::host {

class Descriptors;

class OpenStreams {
 public:
  /// nullptr is none.
  std::FILE* add(std::FILE* stream);
  void remove(std::FILE* stream);
  /// fflush(NULL)'s result.
  int flush();
  /// At the end of the rank; `written`: what they still hold goes out, as exit() has it.
  void end(bool written, Descriptors& descriptors);

 private:
  RecursiveMutex lock_;  ///< a stream's own functions (fopencookie) may open others
  std::vector<std::FILE*> all_ MEANTIME_GUARDED_BY(lock_);
};

}  // namespace meantime::host
