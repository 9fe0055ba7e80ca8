// The end of the job by a rank that cannot or shall not go on.
#pragma once

#include <string_view>

namespace meantime::core {

/// Ends the whole job: tells mpiexec, which prints `text` (one line, without the newline; may be
/// empty) and ends all ranks; in a singleton prints it and leaves with `code` (a code whose low
/// byte is 0 leaves with 1). Flushes stdout first, if no other thread is in it. Any thread.
[[noreturn]] void abort_job(int code, std::string_view text);

}  // namespace meantime::core
