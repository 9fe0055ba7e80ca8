// The names of all MPI calls by the number that a rank carries while it is inside one (Rank::call).
#pragma once

#include <cstdint>

namespace meantime {

/// "MPI_Send"; "no MPI call" for 0 and for numbers that are none.
const char* call_name(std::uint16_t call);

}  // namespace meantime
