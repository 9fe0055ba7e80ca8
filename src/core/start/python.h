// Where a Python program waits. An MPI call's return address is in a module that Cython has made
// (mpi4py's MPI.so), the same for all of the program's calls; the script's line only the
// interpreter knows, and says without its lock what it says in a crash (faulthandler).
#pragma once

#include <string>

namespace meantime::core {

/// Looks for an interpreter in this process. Once, in MPI_Init.
void look_for_python();

/// "solve (script.py:12)": what the calling thread is doing in the interpreter; empty if it is not
/// in one, or in one that does not tell. Some 50 us.
std::string location_in_python();

/// The interpreter's standard output, as src/core/start/output.h has it.
void print_whole_lines_in_python();

}  // namespace meantime::core
