// MPI 5.0, 6.9.5 to 6.9.7: users' reduction operators, and reducing without communication.
#include "core/op/op.h"

#include "api/generated/calls.h"
#include "core/error/error.h"

namespace meantime::api {

int Op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) {
  Op* made = new Op(Op::Code::user);
  made->user = user_fn;
  made->commutative = commute != 0;
  *op = made->handle();
  return MPI_SUCCESS;
}

int Op_create_c(MPI_User_function_c* user_fn, int commute, MPI_Op* op) {
  Op* made = new Op(Op::Code::user);
  made->user_large = user_fn;
  made->commutative = commute != 0;
  *op = made->handle();
  return MPI_SUCCESS;
}

int Op_free(MPI_Op* op) {
  Op* object = resolve(*op);
  if (object->predefined) {
    return fail(MPI_ERR_OP, "a predefined operator cannot be freed");
  }
  drop(object);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

int Op_commutative(Op& op, int* commute) {
  *commute = op.commutative ? 1 : 0;
  return MPI_SUCCESS;
}

int Reduce_local(const void* inbuf, void* inoutbuf, MPI_Count count, Datatype& datatype, Op& op) {
  const int error = check_op(op, datatype);
  if (error != MPI_SUCCESS || count == 0) {
    return error;
  }
  if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE) {
    return fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is no buffer of this call");
  }
  if (inbuf == inoutbuf && inbuf != MPI_BOTTOM) {
    return fail(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory");
  }
  if (datatype.predefined && (inbuf == nullptr || inoutbuf == nullptr)) {
    return fail(MPI_ERR_BUFFER, "a buffer is a null pointer");
  }
  return reduce_local(op, inbuf, inoutbuf, count, datatype);
}

}  // namespace meantime::api
