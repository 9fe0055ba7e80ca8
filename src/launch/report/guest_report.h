// What guests had of the CPUs, and what came of it.
#pragma once

#include <string>

#include "launch/job.h"
#include "launch/report/ledger_report.h"

namespace meantime::launch {

/// For people; empty if there were none.
std::string guest_table(const Job& job, const JobTimes& times);
/// An object, or null.
std::string json_guests(const Job& job, const JobTimes& times);

}  // namespace meantime::launch
