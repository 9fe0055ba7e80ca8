// Whether the ranks of this machine wait, as their segments say (deadlock/node_state.h, room.h).
// `segments`: of each of mpiexec's own nodes a descriptor; there are several where it plays them.
#pragma once

#include <string>
#include <vector>

#include "deadlock/node_state.h"
#include "deadlock/over_nodes.h"

namespace meantime::launch {

/// Of the only node.
wait::NodeState state_of_node(const std::vector<int>& segments);

/// What is to be said of a deadlock behind the list of what each rank does; it may be empty.
std::string room_of_nodes(const std::vector<int>& segments);

/// Of all nodes, by all waves that it takes.
wait::OverNodes::Next look_over_nodes(wait::OverNodes& nodes, const std::vector<int>& segments);

}  // namespace meantime::launch
