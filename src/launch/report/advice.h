// The sentences that a report opens with: where the ranks waited most, and what to do about it.
#pragma once

#include <cstdint>
#include <string>

#include "launch/job.h"
#include "launch/report/core_seconds.h"
#include "ledger/reader.h"

namespace meantime::launch {

/// `worst_site`: the call site that took most of the ranks' time, and how much; empty: there is
/// none.
std::string advice(const Job& job, const ledger::Figures& figures, const CoreSeconds& sums,
                   const std::string& worst_site, std::uint64_t worst_ns, bool ended_early);

}  // namespace meantime::launch
