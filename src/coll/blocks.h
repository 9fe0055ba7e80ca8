// The buffers of a collective, whichever form of the call they came with.
//   piece    one buffer: address, count, datatype
//   blocks   one piece for each peer: evenly spaced (MPI_Gather), with counts and displacements in
//            extents (…v), or with types and displacements in bytes (…w)
// Views: the arrays and the types stay the caller's.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>

#include "coll/stream.h"
#include "core/datatype/datatype.h"
#include "core/object/counts.h"

namespace meantime::coll {

struct Piece {
  void* buffer = nullptr;
  MPI_Count count = 0;
  Datatype* type = nullptr;

  Piece() = default;
  Piece(const void* buffer, MPI_Count count, Datatype& type)
      : buffer(const_cast<void*>(buffer)), count(count), type(&type) {}

  bool in_place() const { return buffer == MPI_IN_PLACE; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(type->size);
  }
  /// Bytes [offset, offset + size) of the packed stream; what lies beyond the end is left out.
  void pack_to(void* to, std::size_t offset, std::size_t size) const {
    if (size > 0) {
      pack(buffer, count, *type, offset, to, size);
    }
  }
  void unpack_from(const void* from, std::size_t offset, std::size_t size) const {
    if (size > 0) {
      unpack(buffer, count, *type, offset, from, size);
    }
  }
  /// The same; if `streams`, past the caches (stream.h), should the data lie in one piece.
  void unpack_from(const void* from, std::size_t offset, std::size_t size, bool streams) const {
    if (streams && type->contiguous && offset < bytes()) {
      stream(static_cast<char*>(buffer) + type->true_lb + offset, from,
             std::min(size, bytes() - offset));
    } else {
      unpack_from(from, offset, size);
    }
  }
};

/// What a rank gives itself.
int copy_own(const Piece& from, const Piece& to);

class Blocks {
 public:
  Blocks(const void* buffer, MPI_Count count, Datatype& type)
      : buffer_(static_cast<char*>(const_cast<void*>(buffer))), count_(count), type_(&type) {}
  Blocks(const void* buffer, Counts counts, Displacements displacements, Datatype& type)
      : buffer_(static_cast<char*>(const_cast<void*>(buffer))),
        counts_(counts),
        displacements_(displacements),
        type_(&type) {}
  Blocks(const void* buffer, Counts counts, Displacements displacements, const MPI_Datatype types[])
      : buffer_(static_cast<char*>(const_cast<void*>(buffer))),
        counts_(counts),
        displacements_(displacements),
        types_(types) {}

  bool in_place() const { return buffer_ == MPI_IN_PLACE; }
  /// All blocks have the same size, as they have at every other member.
  bool even() const { return !counts_; }
  /// For collectives on neighbourhoods, of which only the topology says how many peers there are,
  /// so that entry points cannot look at arrays: MPI_SUCCESS or what is wrong with them.
  int check(std::size_t peers) const;
  Piece operator[](int peer) const {
    if (even()) {
      return {at(peer * count_ * type_->extent), count_, *type_};
    }
    if (type_ != nullptr) {
      return {at(displacement(peer) * type_->extent), counts_[peer], *type_};
    }
    // A type of which nothing is taken need not be valid, nor the array be there if none is.
    Datatype* type = counts_[peer] == 0 ? resolve(MPI_BYTE) : resolve(types_[peer]);
    return {at(displacement(peer)), counts_[peer], *type};
  }
  std::size_t bytes(int peer) const { return (*this)[peer].bytes(); }

 private:
  /// The array may be NULL if all counts are 0.
  MPI_Count displacement(int peer) const { return displacements_ ? displacements_[peer] : 0; }
  // MPI_BOTTOM is a null pointer, from which displacements count as addresses.
  char* at(MPI_Count offset) const {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(buffer_) +
                                   static_cast<std::uintptr_t>(offset));
  }

  char* buffer_;
  MPI_Count count_ = 0;
  Counts counts_{static_cast<const int*>(nullptr)};
  Displacements displacements_{static_cast<const int*>(nullptr)};
  Datatype* type_ = nullptr;
  const MPI_Datatype* types_ = nullptr;  ///< of …w; else type_ is
};

}  // namespace meantime::coll
