// The canonical representation "external32" (MPI 5.0, 14.5.2): big-endian, fixed sizes. Used by the
// Pack_external calls. Speed does not matter here; being right on any type map does.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "core/datatype/datatype.h"

namespace meantime {

/// Bytes of `count` elements in external32; negative if they exceed MPI_Count.
MPI_Count external32_size(const Datatype& type, MPI_Count count);
/// `out` has room for external32_size bytes.
void pack_external32(const void* buffer, MPI_Count count, const Datatype& type, void* out);
void unpack_external32(void* buffer, MPI_Count count, const Datatype& type, const void* in);

}  // namespace meantime
