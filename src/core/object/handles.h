// From a handle to the object behind it, for every kind of handle: `resolve` gives nullptr for the
// null handle and for what is no handle of that type. Each kind's is beside its object; this header
// is for those who need them all.
#pragma once

#include "core/datatype/datatype.h"
#include "core/object/tables.h"
#include "core/object/window.h"
#include "core/op/op.h"
#include "core/request/request.h"

namespace meantime {

inline Request* resolve(MPI_Request handle) {
  return object_behind<Request>(handle);
}

// There are none in this version: their calls are not there yet.
struct File;

}  // namespace meantime
