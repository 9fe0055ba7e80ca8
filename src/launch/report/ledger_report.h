// `mpiexec --report`: where the job's time went, from the ledger in its segment and the kernel's
// account of its processes. The columns are measured apart from each other and then compared:
// running + waiting is the wall time by construction, CPU time is the kernel's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "guest/account.h"
#include "guest/bound.h"
#include "launch/job.h"

namespace meantime::launch {

/// What mpiexec itself has measured.
struct JobTimes {
  double wall_seconds = 0;
  double allocated_seconds = 0;          ///< of cores: as many as ranks can use, times wall time
  double cpu_seconds = 0;                ///< of its ranks and what they start, by the kernel
  std::optional<double> others_seconds;  ///< of all others on the job's CPUs, if that is known
  bool ended_early = false;              ///< and not by its ranks
  double joules = -1;                    ///< -1: could not be read
  std::string energy_source;
  const guest::Account* guests = nullptr;     ///< of the guests, if there were some
  const guest::Bound* guest_bound = nullptr;  ///< on what they cost, if there was one
};

struct JobFigures;

/// For people; many lines, the last of them not ended.
std::string ledger_table(const Job& job, const JobFigures& all, const JobTimes& times);
/// The same and more, for programs: docs/reference/report.md describes it.
std::string ledger_json(const Job& job, const JobFigures& all, const JobTimes& times);

}  // namespace meantime::launch
