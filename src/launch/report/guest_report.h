// What guests had of the CPUs, and what came of it.
#pragma once

#include <string>

#include "launch/job.h"
#include "launch/report/ledger_report.h"
#include "ledger/reader.h"

namespace meantime::launch {

/// For people; empty if there were none.
std::string guest_table(const Job& job, const JobTimes& times);
/// A worker of thread ranks was at it when its process ended.
bool ended_in_guest_work(const ledger::Figures& figures);
/// Of waits, in which the ranks' CPU time is not their own.
double guest_function_seconds(const ledger::Figures& figures);
std::string guest_function_table(const Job& job, const ledger::Figures& figures);
/// What guests cost, in one line, if that was measured (--max-overhead).
std::string guest_cost(const JobTimes& times);

// An object, or null.
std::string json_guest_cost(const JobTimes& times);
std::string json_guests(const Job& job, const JobTimes& times);
std::string json_guest_function(const Job& job, const ledger::Figures& figures);

}  // namespace meantime::launch
