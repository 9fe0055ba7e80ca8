// What a reduction works on.
//   elements    `count` of a datatype, as they lie in a deposit: as in memory, from the first data
//               byte on, so that an operator can work there
//   reduction   input, output, elements and operator of one call
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "coll/thresholds.h"
#include "core/counts.h"
#include "core/datatype/datatype.h"
#include "core/op/op.h"

namespace meantime::coll {

class Elements {
 public:
  explicit Elements(Datatype& type)
      : type_(type), stride_(static_cast<std::size_t>(type.contiguous ? type.size : type.extent)) {}

  /// False for elements that overlap, have far more holes than data, are huge, or whose first byte
  /// of data is not aligned as the element is: such reductions go by messages.
  bool fit() const {
    return stride_ <= thresholds::round && type_.true_lb % alignof(std::max_align_t) == 0 &&
           (type_.contiguous ||
            (type_.extent >= type_.true_extent && type_.extent <= 4 * type_.size));
  }
  std::size_t stride() const { return stride_; }
  std::size_t bytes(MPI_Count count) const { return static_cast<std::size_t>(count) * stride_; }
  /// What an operator takes for the address of element `index` of a deposit.
  char* at(char* deposit, MPI_Count index) const {
    return deposit + index * static_cast<MPI_Count>(stride_) - type_.true_lb;
  }
  /// From a user's buffer, element `first` on, to a deposit; and back.
  void put(const void* buffer, MPI_Count first, MPI_Count count, char* deposit) const {
    if (type_.contiguous) {
      std::memcpy(deposit, user(buffer, first) + type_.true_lb, bytes(count));
    } else {
      copy(user(buffer, first), count, type_, at(deposit, 0), count, type_);
    }
  }
  void get(const char* deposit, void* buffer, MPI_Count first, MPI_Count count) const {
    if (type_.contiguous) {
      std::memcpy(user(buffer, first) + type_.true_lb, deposit, bytes(count));
    } else {
      copy(at(const_cast<char*>(deposit), 0), count, type_, user(buffer, first), count, type_);
    }
  }

 private:
  char* user(const void* buffer, MPI_Count index) const {
    return static_cast<char*>(const_cast<void*>(buffer)) + index * type_.extent;
  }

  Datatype& type_;
  std::size_t stride_;
};

struct Reduction {
  const void* send;  ///< or MPI_IN_PLACE: the input is in `receive`
  void* receive;     ///< of a reduce: at the root only
  MPI_Count count;
  Datatype& type;
  Op& op;

  const void* input() const { return send == MPI_IN_PLACE ? receive : send; }
  /// What all members must give alike.
  std::uint64_t agreed() const {
    // Not the operator: OSU's programs let the root take MPI_MAX where the others take MPI_MIN.
    return static_cast<std::uint64_t>(count * type.size);
  }
};

/// How many elements of a reduce-scatter each member gets.
class MemberCounts {
 public:
  MemberCounts(MPI_Count each, int members) : each_(each), members_(members) {}
  MemberCounts(Counts counts, int members) : counts_(counts), members_(members) {}
  int members() const { return members_; }
  MPI_Count operator[](int member) const { return counts_ ? counts_[member] : each_; }
  MPI_Count sum() const {
    MPI_Count sum = 0;
    for (int member = 0; member < members_; ++member) {
      sum += (*this)[member];
    }
    return sum;
  }

 private:
  MPI_Count each_ = 0;
  Counts counts_{static_cast<const int*>(nullptr)};
  int members_;
};

}  // namespace meantime::coll
