#include "core/error/initial_errhandler.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/object/tables.h"
#include "protocol/control.h"

namespace meantime::core {
namespace {

/// Looked at once, at the beginning: the program may change its environment. All ranks of a process
/// run one program. A program with rights that its user has not does as it was written.
std::string_view given_by_launcher() {
  const char* const name =
      getauxval(AT_SECURE) == 0 ? std::getenv(launch::initial_errhandler_variable) : nullptr;
  return name != nullptr ? name : "";
}

}  // namespace

Errhandler& initial_errhandler() {
  static const auto& given = *new std::string(given_by_launcher());
  return given == "mpi_errors_return"  ? tables().returns
         : given == "mpi_errors_abort" ? tables().abort
                                       : tables().fatal;
}

}  // namespace meantime::core
