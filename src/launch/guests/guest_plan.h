// What `--guest` and MEANTIME_GUEST_... ask for: processes, as the keeper takes it (guest/plan.h),
// or a function that waiting ranks call (core/start/guest_function.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/job.h"

namespace meantime::launch {

/// Fills in job.guests or job.guest_function, if the job is to have some. Empty, or one line why it
/// cannot be.
std::string plan_guests(Job& job);
/// The same for so many ranks, or kernel threads that run them, by what holds of each setting
/// (empty: nobody has said anything). `places`: of bound ranks.
std::string plan_guests(const std::function<std::string(std::string_view)>& value,
                        const CpuBudget& cpus, int ranks, const std::vector<cpu_set_t>& places,
                        std::optional<guest::Plan>& guests, std::string& function);

}  // namespace meantime::launch
