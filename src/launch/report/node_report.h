// What the supervisor of another node of a launcher's job has for the report of all, on its way to
// that of the first node: its ranks' figures with the names of their call sites, which it alone can
// find, and what it has measured. Both are of one installation, as of one machine's numbers.
#pragma once

#include <string>
#include <string_view>

#include "launch/job.h"
#include "launch/report/job_figures.h"
#include "launch/report/ledger_report.h"

namespace meantime::launch {

/// Of the ranks of this node.
std::string packed_report(const Job& job, const JobFigures& figures, const JobTimes& times);

/// Adds that of another to what is here. False: it is none, and nothing is changed.
bool add_report(std::string_view packed, Job& job, JobFigures& figures, JobTimes& times);

}  // namespace meantime::launch
