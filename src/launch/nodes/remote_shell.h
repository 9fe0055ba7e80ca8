// Starting mpiexec on another machine: by ssh, or whatever MEANTIME_REMOTE_SHELL names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meantime::launch {

/// The words that start, on that machine, the mpiexec which is installed there as it is here. This
/// machine needs no shell. `remote_shell`: empty: the usual one, which in an allocation of Slurm is
/// srun.
std::vector<std::string> words_to_start_on(std::string_view machine, std::string_view remote_shell,
                                           bool in_slurm);

/// The program of these words, as PATH has it; empty: there is none.
std::string remote_shell_program(const std::vector<std::string>& words);

}  // namespace meantime::launch
