// Network namespaces in which ranks of nodes that this machine plays are to run. They have no name:
// a process (of `meantime cluster`) holds descriptors of them, and they go with it.
#pragma once

#include <string>
#include <vector>

namespace meantime::launch {

/// "PID:FD,FD,...": descriptors of that process, one a node. Opens the first `count`,
/// close-on-exec. Empty, or one line why not.
std::string open_network_namespaces(const std::string& held, int count, std::vector<int>& opened);

}  // namespace meantime::launch
