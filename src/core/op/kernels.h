// The loops of the built-in reductions: one function for each pair of operator and representation.
// Compiled with -O3: they are written for the vectoriser.
#pragma once

#include <mpi.h>

#include "core/op/op.h"

namespace meantime {

/// inout[i] = in[i] op inout[i] for an array of `count` elements. The arrays do not overlap.
using Kernel = void (*)(const void* in, void* inout, MPI_Count count);

/// nullptr where MPI defines no such operation (MPI 5.0, 6.9.2 and 6.9.4).
Kernel kernel_of(Op::Code code, Basic basic);
/// MPI_MINLOC and MPI_MAXLOC.
Kernel pair_kernel_of(Op::Code code, Basic value, Basic index);

}  // namespace meantime
