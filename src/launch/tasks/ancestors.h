// What stands above a task: scripts that the launcher has started in its place, and the launcher.
// All that the launcher has started have the name of its job in their environment.
#pragma once

#include <sys/types.h>

namespace meantime::launch {

/// The one that the launcher itself has started: the task, or a script that has started it.
pid_t started_by_launcher(pid_t task);
/// The launcher's process on this node.
pid_t launcher_of(pid_t task);

}  // namespace meantime::launch
