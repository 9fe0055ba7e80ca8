// The machines of a Slurm allocation of several (salloc, sbatch), in which mpiexec was started:
// they are what ranks run on if the command line names none, and srun starts mpiexec there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/cli/command_line.h"

namespace meantime::launch {

/// With the number of tasks that each is for. None: there is no such allocation, or this is a task
/// that srun has started. `problem`: or one line why they cannot be had.
std::vector<NodeRequest> nodes_of_slurm(std::string& problem);

/// "2(x3),1": 2, 2, 2, 1. As SLURM_TASKS_PER_NODE has it.
std::vector<int> tasks_of_nodes(std::string_view text);

/// Before the words that are to be started there.
std::vector<std::string> slurm_shell(std::string_view machine);

}  // namespace meantime::launch
