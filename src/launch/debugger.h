// --debugger gdb: each rank under a debugger of its own.
#pragma once

#include <string>
#include <vector>

#include "launch/job.h"

namespace meantime::launch {

/// Why this job cannot be run under a debugger here, as one line; empty if it can.
std::string debugger_refusal(const Job& job);

/// Puts the debugger (and its terminal window, if there are several ranks) in front of a program.
void put_under_debugger(const Job& job, PreparedProgram& program);

}  // namespace meantime::launch
