// What a report says, in the table (ledger_table.cpp) as in the JSON (ledger_report.cpp): the
// figures of a job's ledger, with the source locations by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/job.h"
#include "ledger/reader.h"
#include "symbolize/source_location.h"

namespace meantime::launch {

/// Of the job's segments, one a node; of no rank if there are none.
ledger::Figures figures_in(const Job& job, const std::vector<int>& segments);

CodeAddress address_of(const ledger::SiteFigures& site);
/// Of all call sites.
std::map<CodeAddress, SourceLocation> names_of(const ledger::Figures& figures);

/// What a report is made of.
struct JobFigures {
  ledger::Figures ledger;
  std::map<CodeAddress, SourceLocation> names;  ///< of all call sites
};

/// Ranks of other nodes whose figures have not come.
std::vector<std::size_t> missing_ranks(const Job& job);

/// The histogram is coarse; the longest wait is known exactly.
std::uint64_t quantile(const ledger::SiteFigures& site, double q);

/// In MPI, by the rank itself, or its share of its worker's (ledger/prorate.h); of a process rank
/// that did not get to MPI_Finalize the whole process's, by the kernel. Nothing if none is known.
std::optional<double> cpu_time(const ledger::RankFigures& rank, const RankProcess& process);
/// Of all, without what they start and what they do outside of MPI_Init to MPI_Finalize, seconds:
/// of tasks, whom the kernel does not count as children of ours.
double cpu_time_of_ranks(const Job& job, const ledger::Figures& figures);

inline double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

}  // namespace meantime::launch
