// --debugger gdb: each process of the job under a debugger of its own.
#pragma once

#include <string>
#include <vector>

#include "launch/job.h"

namespace meantime::launch {

/// Why this job cannot be run under a debugger here, as one line; empty if it can.
std::string debugger_refusal(const Job& job);

/// Puts the debugger (and its terminal window, if there are several ranks) in front of a program.
void put_under_debugger(const Job& job, PreparedProgram& program);

/// The same for the process of all thread ranks: the file to run and its words.
void put_host_under_debugger(std::string& path, std::vector<std::string>& words);

}  // namespace meantime::launch
