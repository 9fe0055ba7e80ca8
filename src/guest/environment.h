// The environment of guests: nothing of MPI, of the job, or of what may be secret.
#pragma once

#include <string>
#include <vector>

namespace meantime::guest {

/// Those variables of this process's that guests see.
std::vector<std::string> environment();

}  // namespace meantime::guest
