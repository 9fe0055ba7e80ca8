// Where mpiexec plays the nodes it has all of their segments: whether the ranks of all of them wait
// for each other for ever it asks itself (deadlock/over_nodes.h).
#pragma once

#include <string>
#include <vector>

#include "deadlock/over_nodes.h"

namespace meantime::launch {

/// All waves that it takes. `segments`: of each node a descriptor. After `deadlock`, *hint has what
/// is to be said behind the list of what each rank does.
wait::OverNodes::Next look_over_nodes(wait::OverNodes& nodes, const std::vector<int>& segments,
                                      std::string& hint);

}  // namespace meantime::launch
