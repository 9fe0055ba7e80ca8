// How an entry point becomes two symbols of the library. For the generated files only.
#pragma once

#include <mpi.h>

#include <new>

#include "rank/rank.h"

#define MEANTIME_ENTRY_POINT extern "C" __attribute__((visibility("default")))

/// MPI_X, which a tool may replace, is PMPI_X unless one does (MPI 5.0, 15.2).
// NOLINTBEGIN(bugprone-macro-parentheses): `twin` is a name that is declared
#define MEANTIME_WEAK_TWIN(twin, of) \
  extern "C" decltype(of) twin __attribute__((weak, alias(#of), visibility("default")))
// NOLINTEND(bugprone-macro-parentheses)

#define MEANTIME_CALL_SITE __builtin_return_address(0)

namespace meantime::api {

/// A call of the tool interface: legal at any time, returns its code, calls no error handler.
template <class Function>
int guarded_tool_call(Function&& function) {
  Rank& rank = self();
  rank.lock.lock();
  int code;
  try {
    code = function();
  } catch (const std::bad_alloc&) {
    code = MPI_T_ERR_MEMORY;
  } catch (...) {
    code = MPI_T_ERR_INVALID;
  }
  rank.lock.unlock();
  return code;
}

}  // namespace meantime::api
