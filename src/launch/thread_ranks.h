// Whether a job's ranks can be threads of one process.
#pragma once

#include <string>

#include "launch/job.h"

namespace meantime::launch {

/// For --as threads and --as auto: sets job.thread_ranks. One line why it is refused, or empty;
/// auto is never refused.
std::string choose_thread_ranks(Job& job);

}  // namespace meantime::launch
