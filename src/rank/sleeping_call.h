// In which system call a thread of this process sleeps: for a line to the user.
#pragma once

#include <string>

namespace meantime::ranks {

/// "flock", "system call 17"; empty if it is in none, or the kernel does not tell.
std::string sleeping_call(int thread);

/// In one about memory (munmap, fallocate …): it waits for another thread's, and not for long.
bool waits_for_memory(int thread);
bool is_about_memory(long call);

}  // namespace meantime::ranks
