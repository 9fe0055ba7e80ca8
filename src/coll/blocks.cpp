#include "coll/blocks.h"

#include "core/error/error.h"

namespace meantime::coll {

int copy_own(const Piece& from, const Piece& to) {
  const int error =
      copy_elements(from.buffer, from.count, *from.type, to.buffer, to.count, *to.type);
  return error == MPI_ERR_TRUNCATE
             ? fail(error, "this rank gives itself {} bytes where it has room for {}", from.bytes(),
                    to.bytes())
             : error;
}

int Blocks::check(std::size_t peers) const {
  if (even()) {
    return peers > 0 && (displacements_ || type_ == nullptr)
               ? fail(MPI_ERR_ARG, "the array of counts is a null pointer")
               : MPI_SUCCESS;
  }
  for (int peer = 0; peer < static_cast<int>(peers); ++peer) {
    const MPI_Count count = counts_[peer];
    if (count == 0) {
      continue;
    }
    if (count < 0) {
      return fail(MPI_ERR_COUNT, "count {} of an array is {}, but cannot be negative", peer, count);
    }
    const Datatype* type = types_ == nullptr ? type_ : resolve(types_[peer]);
    if (type == nullptr || !type->committed) {
      return fail(MPI_ERR_TYPE, "type {} of an array is no committed datatype", peer);
    }
    if (!displacements_) {
      return fail(MPI_ERR_ARG, "the array of displacements is a null pointer");
    }
    // Behind MPI_BOTTOM a displacement may be an address.
    if (in_place() || (buffer_ == nullptr && displacements_[peer] == 0 && type->predefined)) {
      return fail(MPI_ERR_BUFFER, "{} is no buffer for {} elements",
                  in_place() ? "MPI_IN_PLACE" : "NULL", count);
    }
    if (MPI_Count bytes = 0; __builtin_mul_overflow(count, type->size, &bytes)) {
      return fail(MPI_ERR_COUNT,
                  "count {} of an array is {} elements of {} bytes, more than can be counted", peer,
                  count, type->size);
    }
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::coll
