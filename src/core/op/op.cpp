#include "core/op/op.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "core/error/callback.h"
#include "core/error/error.h"
#include "core/op/kernels.h"

namespace meantime {

Op* predefined_ops[predefined_op_limit - first_predefined_op];

namespace {

struct Named {
  MPI_Op constant;
  Op::Code code;
};

const Named named_ops[] = {
    {MPI_SUM, Op::Code::sum},         {MPI_MIN, Op::Code::min},
    {MPI_MAX, Op::Code::max},         {MPI_PROD, Op::Code::prod},
    {MPI_BAND, Op::Code::band},       {MPI_BOR, Op::Code::bor},
    {MPI_BXOR, Op::Code::bxor},       {MPI_LAND, Op::Code::land},
    {MPI_LOR, Op::Code::lor},         {MPI_LXOR, Op::Code::lxor},
    {MPI_MINLOC, Op::Code::minloc},   {MPI_MAXLOC, Op::Code::maxloc},
    {MPI_REPLACE, Op::Code::replace}, {MPI_NO_OP, Op::Code::no_op},
};

/// Fills the table when the library is loaded; never destroyed, as ranks may outlive its end.
struct Table {
  Table() {
    for (const Named& named : named_ops) {
      Op* op = new Op(named.code);
      op->predefined = true;
      op->constant = named.constant;
      op->commutative = named.code != Op::Code::replace && named.code != Op::Code::no_op;
      predefined_ops[reinterpret_cast<std::uintptr_t>(named.constant) - first_predefined_op] = op;
    }
  }
};
const Table table;

Kernel find_kernel(const Op& op, const Datatype& type) {
  return type.basic == Basic::pair ? pair_kernel_of(op.code, type.pair_value, type.pair_index)
                                   : kernel_of(op.code, type.basic);
}

int undefined(const Op& op, const Datatype& type) {
  return fail(MPI_ERR_OP, "the operator {:#x} is not defined for the datatype {}",
              reinterpret_cast<std::uintptr_t>(op.constant),
              type.name.empty() ? std::string("given") : type.name);
}

/// A derived type whose leaves are all alike: its leaves are gathered into arrays, piece by piece.
void reduce_gathered(Kernel kernel, const void* in, void* inout, MPI_Count count,
                     const Datatype& type) {
  constexpr MPI_Count room = 8192;
  alignas(64) char stream[room];
  alignas(64) char arrays[2][room];
  const Datatype& leaf = *type.leaf;
  const MPI_Count piece = room / leaf.extent;
  const MPI_Count elements = count * (type.size / leaf.size);
  for (MPI_Count done = 0; done < elements; done += piece) {
    const MPI_Count part = std::min(piece, elements - done);
    const auto offset = static_cast<std::size_t>(done * leaf.size);
    const auto bytes = static_cast<std::size_t>(part * leaf.size);
    pack(in, count, type, offset, stream, bytes);
    unpack(arrays[0], part, leaf, 0, stream, bytes);
    pack(inout, count, type, offset, stream, bytes);
    unpack(arrays[1], part, leaf, 0, stream, bytes);
    kernel(arrays[0], arrays[1], part);
    pack(arrays[1], part, leaf, 0, stream, bytes);
    unpack(inout, count, type, offset, stream, bytes);
  }
}

void call_function(const Op& op, const void* in, void* inout, MPI_Count count, Datatype& type) {
  if (core::thrown.kept != nullptr) {
    return;  // it threw before in this call: no result is right any more
  }
  // Users' functions do not write to `in`, but MPI's prototype says nothing about it.
  char* from = static_cast<char*>(const_cast<void*>(in));
  char* to = static_cast<char*>(inout);
  MPI_Datatype handle = type.handle();
  if (op.user_large != nullptr) {
    core::call_user(0, [&] {
      op.user_large(from, to, &count, &handle);
      return 0;
    });
    return;
  }
  while (count > 0 && core::thrown.kept == nullptr) {
    int part = static_cast<int>(std::min<MPI_Count>(count, std::numeric_limits<int>::max()));
    const MPI_Count bytes = part * type.extent;
    count -= part;
    core::call_user(0, [&] {
      op.user(from, to, &part, &handle);
      return 0;
    });
    from += bytes;
    to += bytes;
  }
}

}  // namespace

int check_op(const Op& op, const Datatype& type) {
  if (op.code == Op::Code::user) {
    return MPI_SUCCESS;
  }
  return type.predefined && find_kernel(op, type) != nullptr ? MPI_SUCCESS : undefined(op, type);
}

int reduce_local(const Op& op, const void* in, void* inout, MPI_Count count, Datatype& type) {
  switch (op.code) {
    case Op::Code::user:
      if (count > 0) {
        call_function(op, in, inout, count, type);
      }
      return MPI_SUCCESS;
    case Op::Code::replace:
      return copy_elements(in, count, type, inout, count, type);
    case Op::Code::no_op:
      return MPI_SUCCESS;
    default:
      break;
  }
  const Kernel kernel = find_kernel(op, type);
  if (kernel == nullptr || type.leaf == nullptr) {
    return undefined(op, type);
  }
  if (type.predefined) {
    kernel(in, inout, count);
  } else if (type.contiguous && type.leaf->contiguous) {
    kernel(static_cast<const char*>(in) + type.true_lb, static_cast<char*>(inout) + type.true_lb,
           count * (type.size / type.leaf->size));
  } else {
    reduce_gathered(kernel, in, inout, count, type);
  }
  return MPI_SUCCESS;
}

int reduce_chain(const Op& op, const char* in, std::size_t stride, int many, void* inout,
                 Datatype& type) {
  const Kernel kernel =
      op.code < Op::Code::replace && type.predefined ? find_kernel(op, type) : nullptr;
  int error = MPI_SUCCESS;
  for (int index = many - 1; index >= 0 && error == MPI_SUCCESS; --index) {
    const char* const element = in + static_cast<std::size_t>(index) * stride;
    if (kernel != nullptr) [[likely]] {
      kernel(element, inout, 1);
    } else {
      error = reduce_local(op, element, inout, 1, type);
    }
  }
  return error;
}

}  // namespace meantime
