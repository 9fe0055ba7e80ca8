// Whether a job is reported, and the files that its report goes to.
#pragma once

#include <string>

#include "launch/job.h"

namespace meantime::launch {

/// MEANTIME_REPORT says what --report does not: 1, or a file.
void ask_for_report_by_setting(Job& job);

/// One line why not; then each is as it was, and none has been made. Who starts the ranks empties
/// them.
std::string open_report_files(Job& job);

/// Of a node that tells of itself though it is not the first: others that nobody else writes.
std::string open_report_files_of_node(Job& job);

/// Of a job that comes to no report: its files that are still empty are gone again.
void remove_empty_reports(const Job& job);

}  // namespace meantime::launch
