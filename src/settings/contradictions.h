// Settings that each make sense and together do not: one of them would have no effect, and nobody
// would notice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/sources.h"

namespace meantime::settings {

/// MEANTIME_EAGER_LIMIT if nobody says anything, in bytes.
inline constexpr std::uint64_t preset_eager_limit = 8 * 1024;

/// The first contradiction among the values that hold, in one line; empty if there is none. What a
/// file says for many jobs is not in the way of what is said for one: only what was said as late as
/// what makes it void contradicts it.
std::string contradiction(const std::function<Value(const Setting&)>& value);

/// What is of no use without something that a lock has taken away; each in a line. That is not the
/// fault of who has asked for it, so it is not refused.
std::vector<std::string> deprived(const std::function<Value(const Setting&)>& value);

/// One of them alone, which MPIX_Setting_set can bring about, too: a rung that a wait never comes
/// to, because one before it never ends. `endless_by`: then becomes the setting that makes it so.
std::string out_of_reach(const std::function<Value(const Setting&)>& value,
                         std::string_view* endless_by = nullptr);

}  // namespace meantime::settings
