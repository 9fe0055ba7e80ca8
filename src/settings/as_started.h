// How a rank is to wait when it starts, in words for reports. mpiexec and the rank itself each say
// it: somebody between the two may have changed the environment.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace meantime::settings {

/// A setting's value by its name; empty: not set.
using ValueOf = std::function<std::string(std::string_view name)>;

/// "event", "adaptive, MEANTIME_TRIES_POLL=5"
std::string way_to_wait(const ValueOf& value);
/// "powersave"; "none", also where there is a handler.
std::string energy_policy(const ValueOf& value);

}  // namespace meantime::settings
