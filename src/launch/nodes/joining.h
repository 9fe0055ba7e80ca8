// How this mpiexec comes to be one of several that are one job's. One of them is the hub, and all
// others are linked to it (other_nodes.h). There are two ways:
//   hosts   `--host` names other machines, or Slurm's allocation has them: that one is the hub. It
//           starts an mpiexec on each, by an order (order.h), and has no ranks itself
//   tasks   another launcher has started them all (srun mpiexec --ranks-per-process 4 ./program):
//           that of rank 0 is the hub. The first of each node has the ranks of all tasks there, so
//           that they share one segment; the others stay beside it for the end
#pragma once

#include <optional>
#include <string>

#include "launch/job.h"
#include "launch/nodes/order.h"

namespace meantime::launch {

/// What the hub has found out and the command line's words do not say.
void take_over(CommandLine& command, const Order& order);

/// Unless the command line says otherwise, the machines of an allocation become the job's, and it
/// has as many ranks as that has tasks for. Empty, or one line why not.
std::string use_allocation(CommandLine& command);

/// Whether this mpiexec is one of the tasks of another launcher, which are to be one job.
bool is_task_of_launcher(const CommandLine& command);

/// Finds the others by the launcher's PMIx, and widens this process's CPUs to those of the node's
/// tasks. The job's ranks are as many as all tasks have. Empty, or one line why not.
std::string join_tasks(Job& job);
/// Whether another task of its node has its ranks.
[[nodiscard]] bool is_beside(const Job& job);
/// Then: waits for the end of the job and returns its status.
int wait_beside(const Job& job);

/// After the job's ranks are there: whose they are. Empty, or one line why not.
std::string divide_among_members(Job& job, const std::optional<Order>& order);

}  // namespace meantime::launch
