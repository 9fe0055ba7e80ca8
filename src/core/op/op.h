// A reduction operator: one of MPI's, or a user's function. Built-in ones are immutable and shared
// by all ranks of a process (no reference count: `hold` and `drop` know).
// Argument order is MPI's: inout = in op inout. Knows nothing of ranks and communicators.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "core/datatype/datatype.h"
#include "core/object/object.h"

namespace meantime {

struct Op : Object {
  static constexpr Kind object_kind = Kind::op;
  enum class Code : std::uint8_t {
    sum,
    min,
    max,
    prod,
    band,
    bor,
    bxor,
    land,
    lor,
    lxor,
    minloc,
    maxloc,
    replace,
    no_op,
    user,
  };

  explicit Op(Code code) : Object(Kind::op), code(code) {}

  Code code;
  bool commutative = true;
  bool predefined = false;
  MPI_User_function* user = nullptr;          ///< of MPI_Op_create; at most one of the two is set
  MPI_User_function_c* user_large = nullptr;  ///< of MPI_Op_create_c
  MPI_Op constant = MPI_OP_NULL;              ///< the ABI's constant of a built-in

  MPI_Op handle() { return predefined ? constant : reinterpret_cast<MPI_Op>(this); }
};

inline constexpr std::uintptr_t first_predefined_op = 0x20;
inline constexpr std::uintptr_t predefined_op_limit = 0x40;
/// By constant - first_predefined_op; nullptr where the ABI has none.
extern Op* predefined_ops[predefined_op_limit - first_predefined_op];

/// The operator behind a handle; nullptr for MPI_OP_NULL and for what is no operator.
inline Op* resolve(MPI_Op handle) {
  const auto constant = reinterpret_cast<std::uintptr_t>(handle) - first_predefined_op;
  if (constant < predefined_op_limit - first_predefined_op) {
    return predefined_ops[constant];
  }
  return object_behind<Op>(handle);
}

/// Keeps a user's operator alive for an operation in flight, and lets it go again.
inline Op* hold(Op& op) {
  if (!op.predefined) {
    op.retain();
  }
  return &op;
}
inline void drop(Op* op) {
  if (!op->predefined && op->release()) {
    delete op;
  }
}

/// MPI_SUCCESS if a reduction may use `op` on `type`; else MPI_ERR_OP with a text. MPI_REPLACE and
/// MPI_NO_OP are for one-sided communication only.
int check_op(const Op& op, const Datatype& type);

/// inout[i] = in[i] op inout[i] for `count` elements; both buffers are laid out as `type` says. A
/// user's function gets the handle of `type`, in calls of at most INT_MAX elements if it is not a
/// large one. Needs check_op first; MPI_REPLACE and MPI_NO_OP work too, on any type.
int reduce_local(const Op& op, const void* in, void* inout, MPI_Count count, Datatype& type);

/// inout = in[0] op (in[1] op (… (in[many - 1] op inout))), for elements `stride` bytes apart.
int reduce_chain(const Op& op, const char* in, std::size_t stride, int many, void* inout,
                 Datatype& type);

}  // namespace meantime
