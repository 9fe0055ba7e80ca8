// In which system call a thread of this process sleeps: for a line to the user.
#pragma once

#include <string>

namespace meantime::ranks {

/// "flock", "system call 17"; empty if it is in none, or the kernel does not tell.
std::string sleeping_call(int thread);

}  // namespace meantime::ranks
