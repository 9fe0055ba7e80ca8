// The machines that a list or a file of hosts names, in any way that launchers understand: "a,b:4",
// or a line each, "a slots=4", "b:4", "# a comment".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/cli/command_line.h"

namespace meantime::launch {

/// More than a job can have ranks; their exact number does not matter.
inline constexpr int most_slots = 1 << 20;

/// Each machine once, with the slots of all its places in the list; one where none are said. What
/// makes no sense is thrown as a Mistake.
std::vector<NodeRequest> nodes_of_list(std::string_view option, const std::string& list);
std::vector<NodeRequest> nodes_of_file(std::string_view option, const std::string& path);

/// Adds what another list names.
void add_nodes(std::vector<NodeRequest>& nodes, const std::vector<NodeRequest>& more);
int slots_of(const std::vector<NodeRequest>& nodes);

/// It has a few names.
bool is_this_machine(std::string_view host);

}  // namespace meantime::launch
