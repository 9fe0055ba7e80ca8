// A datatype: which bytes of memory, in which order, make up one element of a message.
//   element       one datatype's worth of data; `extent` bytes further on lies the next one
//   basic         what the leaves of a datatype are: int32, float64, a pair of MPI_MINLOC …
//   packed stream the data bytes of `count` elements, one after the other, without gaps
//   layout        the normalised program that walks the memory (layout.h), made at commit
// Predefined datatypes are immutable and shared by all ranks of a process: their objects have no
// reference count (`hold` and `drop` know). Derived ones belong to the rank that made them.
// Knows nothing of ranks, communicators or requests.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/datatype/basic.h"
#include "core/object/object.h"

namespace meantime {

struct AttributeTable;
struct Construction;
class Layout;

struct Datatype : Object {
  static constexpr Kind object_kind = Kind::datatype;
  Datatype();
  ~Datatype();

  MPI_Count size = 0;           ///< bytes of data of one element
  MPI_Count lb = 0;             ///< MPI's lower bound …
  MPI_Count extent = 0;         ///< … and extent, both in bytes
  MPI_Count true_lb = 0;        ///< where the data really starts …
  MPI_Count true_extent = 0;    ///< … and how many bytes it spans
  MPI_Count element_count = 0;  ///< basic elements of one element; a pair counts as two
  std::uint32_t alignment = 1;  ///< of the most demanding basic element (pads structs)
  bool committed = false;
  /// Any count of elements from `buffer + true_lb` on is one run of count*size bytes. Known from
  /// the commit on.
  bool contiguous = false;
  bool predefined = false;   ///< named or f90 type: immutable, never freed
  bool explicit_lb = false;  ///< lb was set (resized, subarray …): wins over data, MPI 5.0 5.1
  bool explicit_ub = false;
  Basic basic = Basic::mixed;       ///< of all leaves, if they are all the same
  Basic pair_value = Basic::mixed;  ///< when basic is pair: what the value is …
  Basic pair_index = Basic::mixed;  ///< … and the index, which lies behind it as in a C struct
  Datatype* leaf = nullptr;         ///< the predefined type of all leaves, if they are all the same
  MPI_Datatype constant = MPI_DATATYPE_NULL;   ///< the ABI's constant of a named type
  std::unique_ptr<Construction> construction;  ///< how it was made; none for named types
  std::shared_ptr<const Layout> layout;        ///< from the commit on
  std::unique_ptr<AttributeTable> attributes;  ///< of derived types; none until first set
  std::string name;      ///< as it was made; predefined ones may be renamed in a rank's tables
  int user_handles = 1;  ///< of derived types: what MPI_Type_free still has to be called for

  /// Its data lie at addresses of their own, so it goes with MPI_BOTTOM, which is NULL; or it has
  /// none. (No program has anything in its first page.)
  bool holds_addresses() const {
    constexpr MPI_Count lowest_address = 4096;
    return size == 0 || (!predefined && true_lb >= lowest_address);
  }

  /// What a user's function gets to see: the ABI's constant or the object's address.
  MPI_Datatype handle() {
    return constant != MPI_DATATYPE_NULL ? constant : reinterpret_cast<MPI_Datatype>(this);
  }
};

inline constexpr std::uintptr_t first_predefined_datatype = 0x200;
inline constexpr std::uintptr_t predefined_datatype_limit = 0x300;
/// By constant - first_predefined_datatype; nullptr where the ABI has none.
extern Datatype* predefined_datatypes[predefined_datatype_limit - first_predefined_datatype];

/// The datatype behind a handle; nullptr for MPI_DATATYPE_NULL and for what is no datatype.
inline Datatype* resolve(MPI_Datatype handle) {
  const auto constant = reinterpret_cast<std::uintptr_t>(handle) - first_predefined_datatype;
  if (constant < predefined_datatype_limit - first_predefined_datatype) {
    return predefined_datatypes[constant];
  }
  return object_behind<Datatype>(handle);
}

/// Keeps a datatype alive for an operation in flight, and lets it go again. No-ops for predefined
/// types, so nobody fights for their cache line. Any thread.
inline Datatype* hold(Datatype& type) {
  if (!type.predefined) {
    type.retain();
  }
  return &type;
}
void destroy(Datatype* type);
inline void drop(Datatype* type) {
  if (!type->predefined && type->release()) {
    destroy(type);
  }
}

/// Copies bytes [offset, offset+bytes) of the packed stream of (buffer, count, type) to `packed`.
/// Returns the bytes copied: fewer than asked for at the stream's end. May be started anywhere: the
/// seek costs the depth of the type times the logarithm of its blocks. `type` must be committed.
std::size_t pack(const void* buffer, MPI_Count count, const Datatype& type, std::size_t offset,
                 void* packed, std::size_t bytes);
/// The way back.
std::size_t unpack(void* buffer, MPI_Count count, const Datatype& type, std::size_t offset,
                   const void* packed, std::size_t bytes);
/// Copies typed memory to typed memory that does not overlap it. What does not fit is left out and
/// MPI_ERR_TRUNCATE returned; a shorter `from` is fine.
int copy_elements(const void* from, MPI_Count from_count, const Datatype& from_type, void* to,
                  MPI_Count to_count, const Datatype& to_type);

/// MPI_Get_count: how many whole elements `bytes` are, MPI_UNDEFINED if they are not.
MPI_Count whole_elements(const Datatype& type, MPI_Count bytes);
/// MPI_Get_elements: how many basic elements lie in the first `bytes` of the packed stream of
/// any number of `type`; MPI_UNDEFINED if the last one is cut.
MPI_Count basic_elements(const Datatype& type, MPI_Count bytes);
/// Whether the packed stream, cut after so many bytes, ends within a basic element. Only an error
/// of the program's makes them end within one.
inline bool ends_within_element(const Datatype& type, MPI_Count bytes) {
  return type.size != 0 && bytes % type.size != 0 && basic_elements(type, bytes) == MPI_UNDEFINED;
}
/// The way back, for MPI_Status_set_elements: the bytes that the first `elements` basic ones take.
MPI_Count bytes_of_elements(const Datatype& type, MPI_Count elements);

}  // namespace meantime
