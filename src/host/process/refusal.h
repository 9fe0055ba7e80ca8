// How the host says that it cannot go on, before any rank runs: in one line, as mpiexec does.
#pragma once

#include <string>

namespace meantime::host {

/// From now on to standard output, and without mpiexec's name: for who tries whether a program can
/// be loaded (programs.h).
void refuse_for_trial();
[[noreturn]] void give_up(const std::string& line);
/// Nothing of the program has run; the job does not start.
[[noreturn]] void refuse(const std::string& why);

}  // namespace meantime::host
