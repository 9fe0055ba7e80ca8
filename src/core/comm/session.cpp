#include "core/comm/session.h"

#include "core/object/tables.h"

namespace meantime {

Session::~Session() {
  drop(errhandler);
  drop(info);
}

Session* resolve(MPI_Session handle) {
  return object_behind<Session>(handle);
}

}  // namespace meantime
