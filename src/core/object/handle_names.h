// The names of the ABI's predefined handles, for messages.
#pragma once

#include <string>

namespace meantime {

/// "MPI_INT" for a predefined handle of any type; for another one its value in hexadecimal.
std::string handle_name(const void* handle);

}  // namespace meantime
