// Which of a job's programs run as thread ranks.
#pragma once

#include <string>

#include "launch/job.h"

namespace meantime::launch {

/// For --as threads and --as auto: decides for each program, then divides the thread ranks into
/// hosts (hosts.h). One line why it is refused, or empty; auto is never refused.
std::string choose_thread_ranks(Job& job);

}  // namespace meantime::launch
