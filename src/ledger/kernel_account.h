// What the kernel says of a thread of this process.
#pragma once

#include <cstdint>

namespace meantime::ledger {

/// CPU time of a kernel thread, by its kernel id; a system call.
std::uint64_t cpu_ns_of(int thread);
/// How long it was ready to run and somebody else had the CPU, up to when it ran last: the second
/// number of schedstat. 0 where the kernel keeps none. Opens a file: some 10 us.
std::uint64_t ready_ns_of(int thread);

}  // namespace meantime::ledger
