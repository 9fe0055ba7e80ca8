#include "core/initial_errhandler.h"

#include <cstdlib>
#include <string_view>

#include "core/tables.h"
#include "launch/control.h"

namespace meantime::core {

Errhandler& initial_errhandler() {
  const char* const name = std::getenv(launch::initial_errhandler_variable);
  const std::string_view given = name != nullptr ? name : "";
  return given == "mpi_errors_return"  ? tables().returns
         : given == "mpi_errors_abort" ? tables().abort
                                       : tables().fatal;
}

}  // namespace meantime::core
