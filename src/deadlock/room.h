// What room for messages has to do with a deadlock, in lines for people.
#pragma once

#include <span>
#include <string>

#include "deadlock/report.h"

namespace meantime::wait {

/// For who had room for them elsewhere: short messages that wait to be received are limited here.
/// Of the segments of all nodes; empty: nothing.
std::string describe_room(std::span<const node::Segment* const> nodes, CallName call_name);

}  // namespace meantime::wait
