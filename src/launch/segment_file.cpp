#include "launch/segment_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#if MEANTIME_HAS_SEGMENT
#include "node/segment.h"
#endif

namespace meantime::launch {

int create_segment_file(const Job& job) {
#if MEANTIME_HAS_SEGMENT
  return node::create_segment(static_cast<int>(job.ranks.size()), job.cpus.workers);
#else
  int file = memfd_create("meantime-node", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(job.ranks.size() + 1) * 4096) != 0) {
    return -errno;
  }
  return file;
#endif
}

}  // namespace meantime::launch
