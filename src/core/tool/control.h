// Control variables of the tools interface (MPI 5.0, 15.3.6): each setting of Meantime is one,
// under its own name and in the order of the table (settings/settings.h).
//   a word    an MPI_INT with an enumeration
//   a number  an MPI_UNSIGNED_LONG_LONG (bytes, microseconds or a count); infinity is its maximum
//   a text    MPI_CHAR
// What a program may change while it runs can be written once MPI is initialised; it holds from the
// rank's next wait on. All functions: rank's lock held; codes are those of the tools interface.
#pragma once

#include <mpi.h>

#include <string>

#include "core/object/object.h"
#include "core/tool/enumeration.h"
#include "settings/settings.h"

namespace meantime::tool {

struct ControlVariable {
  const settings::Setting* setting;
  MPI_Datatype type;
  int count;                       ///< elements of `type`
  const Enumeration* enumeration;  ///< of a word, else nullptr
  int verbosity;                   ///< MPI_T_VERBOSITY_...
  int scope;                       ///< MPI_T_SCOPE_...
};

std::span<const ControlVariable> control_variables();

/// For people; of an enumeration that needs it, what each value means, too (its items have names
/// alone).
std::string description_of(const ControlVariable& variable);

/// What holds for this rank now; `value` has room for `count` elements.
void read(const ControlVariable& variable, void* value);
int write(const ControlVariable& variable, const void* value);

/// What MPI_T_cvar_handle_alloc gives.
struct ControlHandle : Object {
  static constexpr Kind object_kind = Kind::tool_control;
  explicit ControlHandle(const ControlVariable& of) : Object(object_kind), variable(of) {}
  ~ControlHandle() = default;
  const ControlVariable& variable;
};

}  // namespace meantime::tool
