// The end of the job by a rank that cannot or shall not go on.
#pragma once

#include <string_view>

namespace meantime::core {

/// Ends the whole job: writes `text` (one line, without the newline; may be empty) to stderr, tells
/// mpiexec, and leaves with `code` (a code whose low byte is 0 leaves with 1). Any thread.
[[noreturn]] void abort_job(int code, std::string_view text);

}  // namespace meantime::core
