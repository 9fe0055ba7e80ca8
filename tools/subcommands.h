// The subcommands of `meantime`. Each returns the command's exit status.
#pragma once

#include <string>

namespace meantime::tools {

/// Looks at this machine and this installation: 0 if all that MPI needs works, else 1.
int doctor();

/// Names the MPI calls a program imports that Meantime does not have yet: 0 none, 1 some, 2 cannot
/// tell.
int missing(const std::string& program);

}  // namespace meantime::tools
