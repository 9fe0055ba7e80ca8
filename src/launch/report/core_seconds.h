// `mpiexec --report`: the line that a centre can sum over its jobs.
#pragma once

#include <optional>

#include "launch/job.h"
#include "launch/report/ledger_report.h"
#include "ledger/reader.h"

namespace meantime::launch {

/// Core-seconds: what was there, and what became of it. The parts add up to the whole.
struct CoreSeconds {
  double allocated = 0;  ///< workers × wall time
  double computing = 0;  ///< CPU time but for what follows
  double awake = 0;      ///< CPU time of polling and yielding
  double asleep = 0;     ///< of the rest as much as process ranks and workers slept in MPI
  double unused =
      0;  ///< what remains: nobody of the job used the core, and MPI knows nothing of it
  /// Not of that sum: ranks were ready to run, and others had the cores. Nothing if no rank has
  /// told (process ranks do, in MPI_Finalize) and no worker.
  std::optional<double> preempted;
  /// Of what the job did not use of the CPUs, what other programs did, if that is known.
  std::optional<double> others;
  /// Of `asleep` and `unused`: what guests had, by the kernel; of a guest function by its slices.
  std::optional<double> guests;
};

CoreSeconds core_seconds(const Job& job, const ledger::Figures& figures, const JobTimes& times);

}  // namespace meantime::launch
