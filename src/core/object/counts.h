// The count and displacement arrays of a call, whichever of its two C forms the program used: int
// for MPI_Gatherv, MPI_Count (or MPI_Aint, the same thing on every platform of ours) for
// MPI_Gatherv_c. A view: the array stays the caller's.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <type_traits>

namespace meantime {

static_assert(std::is_same_v<MPI_Count, MPI_Aint>, "a view holds int or MPI_Count");

class Integers {
 public:
  Integers(const int* values) : values_(values), wide_(false) {}
  Integers(const MPI_Count* values) : values_(values), wide_(true) {}

  MPI_Count operator[](std::ptrdiff_t i) const {
    return wide_ ? static_cast<const MPI_Count*>(values_)[i] : static_cast<const int*>(values_)[i];
  }
  explicit operator bool() const { return values_ != nullptr; }
  const void* data() const { return values_; }
  /// True for the MPI_Count form: the envelope of a datatype tells them apart.
  bool wide() const { return wide_; }

 private:
  const void* values_;
  bool wide_;
};

using Counts = Integers;
using Displacements = Integers;

}  // namespace meantime
