// What has no effect though somebody has asked for it.
#pragma once

#include <string>

#include "launch/job.h"

namespace meantime::launch {

/// If it was asked for this job (`is_news`), it is said at once; if by a file, which is for many
/// jobs, where somebody looks: with -v, and in the report. An empty line is none.
void note(Job& job, const std::string& line, bool is_news);

}  // namespace meantime::launch
