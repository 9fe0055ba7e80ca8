// What the leaves of datatypes are, as reductions and external32 see them: a representation in
// memory together with the class of operations that MPI defines for it (MPI 5.0, 6.9.2). Several
// named types share one: MPI_INT, MPI_INT32_T are int32; MPI_INTEGER is fortran_int32, because MPI
// defines no logical operations for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace meantime {

enum class Basic : std::uint8_t {
  mixed,  ///< leaves of several kinds, or none
  byte,
  packed,
  character,       ///< Fortran's: no operation is defined
  wide_character,  ///< wchar_t: likewise
  int8,
  int16,
  int32,
  int64,
  long_integer,  ///< MPI_LONG: four bytes in external32
  uint8,
  uint16,
  uint32,
  uint64,
  unsigned_long,  ///< likewise
  fortran_int8,
  fortran_int16,
  fortran_int32,
  fortran_int64,
  fortran_int128,
  float16,
  float32,
  float64,
  long_double,
  float128,
  complex_float16,
  complex_float32,
  complex_float64,
  complex_long_double,
  complex_float128,
  boolean,  ///< C's and C++'s bool
  logical8,
  logical16,
  logical32,
  logical64,
  logical128,
  pair,  ///< a value and an index: Datatype::pair_value and pair_index
};

/// Bytes in memory; 0 for mixed and pair.
constexpr std::size_t size_of(Basic basic) {
  switch (basic) {
    case Basic::mixed:
    case Basic::pair:
      return 0;
    case Basic::byte:
    case Basic::packed:
    case Basic::character:
    case Basic::int8:
    case Basic::uint8:
    case Basic::fortran_int8:
    case Basic::boolean:
    case Basic::logical8:
      return 1;
    case Basic::int16:
    case Basic::uint16:
    case Basic::fortran_int16:
    case Basic::float16:
    case Basic::logical16:
      return 2;
    case Basic::wide_character:
    case Basic::int32:
    case Basic::uint32:
    case Basic::fortran_int32:
    case Basic::float32:
    case Basic::complex_float16:
    case Basic::logical32:
      return 4;
    case Basic::int64:
    case Basic::long_integer:
    case Basic::uint64:
    case Basic::unsigned_long:
    case Basic::fortran_int64:
    case Basic::float64:
    case Basic::complex_float32:
    case Basic::logical64:
      return 8;
    case Basic::fortran_int128:
    case Basic::long_double:
    case Basic::float128:
    case Basic::complex_float64:
    case Basic::logical128:
      return 16;
    case Basic::complex_long_double:
    case Basic::complex_float128:
      return 32;
  }
  return 0;
}

}  // namespace meantime
