// `mpiexec --report`, by MPI call: the time in its waits as the clock has it, the rank and its core
// (the two points of view of docs/reference/clocks.md).
//   rank     it was awake itself: looked, and gave its core away between
//   others   its core ran other ranks meanwhile
//   nobody   the rank slept, and no other rank of its core ran
// What the core of a process rank ran meanwhile is the kernel's affair: unknown.
#pragma once

#include <string>

#include "ledger/reader.h"

namespace meantime::launch {

/// A line for each call that waited, the one that took most time first, with a head; empty if there
/// is none.
std::string call_table(const ledger::Figures& figures);
/// A list of the same, without brackets.
std::string json_calls(const ledger::Figures& figures);

}  // namespace meantime::launch
