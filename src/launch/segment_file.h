// The job's shared segment, from mpiexec's side: making it, before any rank is there.
#pragma once

#include "launch/job.h"

namespace meantime::launch {

/// A descriptor (close-on-exec, the caller's), or -errno.
int create_segment_file(const Job& job);

}  // namespace meantime::launch
