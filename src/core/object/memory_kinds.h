// Which kinds of memory MPI objects say that they take (MPI 5.0, 11.4.3): the host's, all of it.
//   kind      "system", "mpi", or "mpi" with where it is from: "mpi:alloc_mem:win_allocate"
//   request   kinds in a list, as a session's info or mpiexec -memory-alloc-kinds has it
// An object names the two kinds, and of the request, if it names more, what is one of them.
#pragma once

#include <string>
#include <string_view>

namespace meantime {
struct Communicator;
}

namespace meantime::core {

inline constexpr const char* memory_kinds_key = "mpi_memory_alloc_kinds";

std::string supported_memory_kinds(std::string_view request);
/// What mpiexec was asked for; "" if nothing.
const std::string& launchers_memory_kinds();
/// What a communicator, or a window of its ranks, says: as its session, or as mpiexec was asked.
std::string memory_kinds_of(const Communicator& comm);

}  // namespace meantime::core
