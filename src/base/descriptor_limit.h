// How many descriptors this process may have.
#pragma once

#include <sys/resource.h>

namespace meantime {

/// As many as it can have. The soft limit is there for programs that use select(2), which get the
/// numbers that it can take as long as they have few descriptors.
inline void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace meantime
