// What a reduction works on.
//   elements    `count` of a datatype, as they lie in a deposit: packed, so that members whose
//               datatypes have one signature but different layouts understand each other. What one
//               of MPI's operators works on is the same predefined datatype at all members, and
//               lies there as in memory
//   here        whether this member's operator can work in deposits; else it works in places that
//               are laid out as the member's own datatype says
//   reduction   input, output, elements and operator of one call
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>

#include "coll/thresholds.h"
#include "core/datatype/datatype.h"
#include "core/object/counts.h"
#include "core/op/op.h"

namespace meantime::coll {

/// How much memory `count` elements of any layout take to be worked on, and where in it, if it is
/// aligned for all datatypes, the address that MPI calls the buffer is.
struct Room {
  Room(MPI_Count count, const Datatype& type);
  std::size_t bytes;
  MPI_Count buffer;
};

class Elements {
 public:
  Elements(Datatype& type, const Op& op)
      : type_(type),
        op_(op),
        as_in_memory_(type.contiguous || (op.predefined && type.predefined)),
        here_(as_in_memory_ && type.true_lb % alignof(std::max_align_t) == 0),
        stride_(static_cast<std::size_t>(as_in_memory_ && !type.contiguous ? type.extent
                                                                           : type.size)) {}

  /// False for huge elements, at all members alike: such reductions go by messages.
  bool fit() const { return stride_ <= thresholds::round; }
  std::size_t stride() const { return stride_; }
  std::size_t bytes(MPI_Count count) const { return static_cast<std::size_t>(count) * stride_; }

  /// From a user's buffer, element `first` on, to a deposit; and back.
  void put(const void* buffer, MPI_Count first, MPI_Count count, char* deposit) const;
  void get(const char* deposit, void* buffer, MPI_Count first, MPI_Count count) const;

  /// Element `first` of a user's buffer, if those from there on lie as in a deposit; else nullptr.
  const char* in_place_at(const void* buffer, MPI_Count first) const {
    return type_.contiguous ? user(buffer, first) + type_.true_lb : nullptr;
  }

  using DepositOf = std::function<char*(int)>;  ///< a deposit
  /// All of `members` deposits, joined from the last to the first, in the last: v0 op (v1 op …).
  void join(const DepositOf& deposit, int members, MPI_Count count) const;
  /// Each but the first becomes the result up to and including it: v0 op v1, (v0 op v1) op v2, …
  void join_prefixes(const DepositOf& deposit, int members, MPI_Count count) const;
  /// `join` of single elements `distance` bytes apart.
  void join_chain(char* first, std::size_t distance, int members) const;

 private:
  class Workplace;
  /// Joins step 0, 1, … : each in turn is the operator's `in` and the sum its `inout`, which ends
  /// in step 0's deposit; or, for prefixes, the sum so far is `in`, and what is joined replaces the
  /// step's deposit.
  void reduce_elsewhere(const DepositOf& of_step, int steps, bool prefixes, MPI_Count count) const;
  char* user(const void* buffer, MPI_Count index) const {
    return static_cast<char*>(const_cast<void*>(buffer)) + index * type_.extent;
  }

  Datatype& type_;
  const Op& op_;
  const bool as_in_memory_;
  const bool here_;
  const std::size_t stride_;
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
