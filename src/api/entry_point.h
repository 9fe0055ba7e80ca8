// How an entry point becomes two symbols of the library. For the generated files only.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <new>

#include "core/object/tables.h"
#include "rank/rank.h"

#define MEANTIME_ENTRY_POINT extern "C" __attribute__((visibility("default")))

/// MPI_X, which a tool may replace, is PMPI_X unless one does (MPI 5.0, 15.2).
// NOLINTBEGIN(bugprone-macro-parentheses): `twin` is a name that is declared
#define MEANTIME_WEAK_TWIN(twin, of) \
  extern "C" decltype(of) twin __attribute__((weak, alias(#of), visibility("default")))
// NOLINTEND(bugprone-macro-parentheses)

#define MEANTIME_CALL_SITE __builtin_return_address(0)

namespace meantime::api {

/// When a call of the tool interface is legal.
enum class ToolCalling : std::uint8_t { while_initialized, any_time };

/// A call of the tool interface: legal whatever state MPI is in, returns its code, calls no error
/// handler.
template <class Function>
int guarded_tool_call(ToolCalling calling, Function&& function) {
  Rank& rank = self();
  rank.lock.lock();
  int code;
  try {
    code = calling == ToolCalling::while_initialized && core::tables().tool_users <= 0
               ? MPI_T_ERR_NOT_INITIALIZED
               : function();
  } catch (const std::bad_alloc&) {
    code = MPI_T_ERR_MEMORY;
  } catch (...) {
    code = MPI_T_ERR_INVALID;
  }
  rank.lock.unlock();
  return code;
}

}  // namespace meantime::api
