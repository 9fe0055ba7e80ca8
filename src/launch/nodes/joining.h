// How this mpiexec comes to be one of several that are one job's:
//   hub     `--hosts` names other machines: it starts an mpiexec on each, and has no ranks itself
//   member  one that was started so; or
//   task    another launcher has started it (srun mpiexec --ranks-per-process 4 ./program): all of
//           its tasks are one job. That of rank 0 is the hub, and the first of each node has the
//           ranks of all tasks there, so that they share one segment; the others wait for the end
#pragma once

#include <optional>
#include <string>

#include "launch/job.h"
#include "launch/nodes/order.h"

namespace meantime::launch {

/// What the hub has found out beyond the words.
void take_over(CommandLine& command, const Order& order);

/// The machines of an allocation become the job's, and as many ranks as it has tasks for, unless
/// the command line says otherwise. Empty, or one line why not.
std::string use_allocation(CommandLine& command);

/// Of the launcher's tasks, which the job's first (and only) program is started by.
bool is_task_of_launcher(const CommandLine& command);

/// Finds the others by the launcher's PMIx, and widens this process's CPUs to those of the node's
/// tasks. The job's ranks are as many as all tasks have. Empty, or one line why not.
std::string join_tasks(Job& job);
/// It has no ranks: waits for the end of the job and returns its status.
int wait_beside(const Job& job);
[[nodiscard]] bool is_beside(const Job& job);

/// After the job's ranks are there: whose they are. Empty, or one line why not.
std::string divide_among_members(Job& job, const std::optional<Order>& order);

}  // namespace meantime::launch
