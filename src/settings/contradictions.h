// Settings that each make sense and together do not: one of them would have no effect, and nobody
// would notice.
#pragma once

#include <functional>
#include <string>

#include "settings/sources.h"

namespace meantime::settings {

/// The first contradiction among the values that hold, in one line; empty if there is none. What a
/// file says for many jobs is not in the way of what is said for one: only what was said as late as
/// what makes it void contradicts it.
std::string contradiction(const std::function<Value(const Setting&)>& value);

}  // namespace meantime::settings
