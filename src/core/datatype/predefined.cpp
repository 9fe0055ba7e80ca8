// The named datatypes of the ABI. C sizes are this machine's; Fortran's are gfortran's defaults
// (INTEGER, REAL, LOGICAL of 4 bytes).
#include <algorithm>
#include <cwchar>
#include <iterator>

#include "core/datatype/construction.h"
#include "core/datatype/datatype.h"
#include "core/datatype/layout.h"

namespace meantime {

Datatype* predefined_datatypes[predefined_datatype_limit - first_predefined_datatype];

namespace {

struct Named {
  MPI_Datatype constant;
  const char* name;
  Basic basic;
  int size;
  int alignment;
};

template <class T>
constexpr int size_of = static_cast<int>(sizeof(T));
template <class T>
constexpr int alignment_of = static_cast<int>(alignof(T));

#define C_TYPE(mpi, type, basic) \
  { mpi, #mpi, Basic::basic, size_of<type>, alignment_of<type> }
#define COMPLEX_TYPE(mpi, real, basic) \
  { mpi, #mpi, Basic::basic, 2 * size_of<real>, alignment_of<real> }
#define SIZED_TYPE(mpi, size, alignment, basic) \
  { mpi, #mpi, Basic::basic, size, alignment }

const Named plain_types[] = {
    C_TYPE(MPI_AINT, MPI_Aint, int64),
    C_TYPE(MPI_COUNT, MPI_Count, int64),
    C_TYPE(MPI_OFFSET, MPI_Offset, int64),
    SIZED_TYPE(MPI_PACKED, 1, 1, packed),
    C_TYPE(MPI_SHORT, short, int16),
    C_TYPE(MPI_INT, int, int32),
    C_TYPE(MPI_LONG, long, long_integer),
    {MPI_LONG_LONG_INT, "MPI_LONG_LONG_INT", Basic::int64, 8, alignment_of<long long>},
    C_TYPE(MPI_UNSIGNED_SHORT, unsigned short, uint16),
    C_TYPE(MPI_UNSIGNED, unsigned, uint32),
    C_TYPE(MPI_UNSIGNED_LONG, unsigned long, unsigned_long),
    C_TYPE(MPI_UNSIGNED_LONG_LONG, unsigned long long, uint64),
    C_TYPE(MPI_FLOAT, float, float32),
    COMPLEX_TYPE(MPI_C_COMPLEX, float, complex_float32),
    COMPLEX_TYPE(MPI_CXX_FLOAT_COMPLEX, float, complex_float32),
    C_TYPE(MPI_DOUBLE, double, float64),
    COMPLEX_TYPE(MPI_C_DOUBLE_COMPLEX, double, complex_float64),
    COMPLEX_TYPE(MPI_CXX_DOUBLE_COMPLEX, double, complex_float64),
    SIZED_TYPE(MPI_LOGICAL, 4, 4, logical32),
    SIZED_TYPE(MPI_INTEGER, 4, 4, fortran_int32),
    SIZED_TYPE(MPI_REAL, 4, 4, float32),
    SIZED_TYPE(MPI_COMPLEX, 8, 4, complex_float32),
    SIZED_TYPE(MPI_DOUBLE_PRECISION, 8, 8, float64),
    SIZED_TYPE(MPI_DOUBLE_COMPLEX, 16, 8, complex_float64),
    SIZED_TYPE(MPI_CHARACTER, 1, 1, character),
    C_TYPE(MPI_LONG_DOUBLE, long double, long_double),
    COMPLEX_TYPE(MPI_C_LONG_DOUBLE_COMPLEX, long double, complex_long_double),
    COMPLEX_TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, long double, complex_long_double),
    C_TYPE(MPI_C_BOOL, bool, boolean),
    C_TYPE(MPI_CXX_BOOL, bool, boolean),
    C_TYPE(MPI_WCHAR, wchar_t, wide_character),
    C_TYPE(MPI_INT8_T, std::int8_t, int8),
    C_TYPE(MPI_UINT8_T, std::uint8_t, uint8),
    C_TYPE(MPI_CHAR, char, int8),
    C_TYPE(MPI_SIGNED_CHAR, signed char, int8),
    C_TYPE(MPI_UNSIGNED_CHAR, unsigned char, uint8),
    SIZED_TYPE(MPI_BYTE, 1, 1, byte),
    C_TYPE(MPI_INT16_T, std::int16_t, int16),
    C_TYPE(MPI_UINT16_T, std::uint16_t, uint16),
    C_TYPE(MPI_INT32_T, std::int32_t, int32),
    C_TYPE(MPI_UINT32_T, std::uint32_t, uint32),
    C_TYPE(MPI_INT64_T, std::int64_t, int64),
    C_TYPE(MPI_UINT64_T, std::uint64_t, uint64),
    SIZED_TYPE(MPI_LOGICAL1, 1, 1, logical8),
    SIZED_TYPE(MPI_INTEGER1, 1, 1, fortran_int8),
    SIZED_TYPE(MPI_LOGICAL2, 2, 2, logical16),
    SIZED_TYPE(MPI_INTEGER2, 2, 2, fortran_int16),
    SIZED_TYPE(MPI_REAL2, 2, 2, float16),
    SIZED_TYPE(MPI_LOGICAL4, 4, 4, logical32),
    SIZED_TYPE(MPI_INTEGER4, 4, 4, fortran_int32),
    SIZED_TYPE(MPI_REAL4, 4, 4, float32),
    SIZED_TYPE(MPI_COMPLEX4, 4, 2, complex_float16),
    SIZED_TYPE(MPI_LOGICAL8, 8, 8, logical64),
    SIZED_TYPE(MPI_INTEGER8, 8, 8, fortran_int64),
    SIZED_TYPE(MPI_REAL8, 8, 8, float64),
    SIZED_TYPE(MPI_COMPLEX8, 8, 4, complex_float32),
    SIZED_TYPE(MPI_LOGICAL16, 16, 16, logical128),
    SIZED_TYPE(MPI_INTEGER16, 16, 16, fortran_int128),
    SIZED_TYPE(MPI_REAL16, 16, 16, float128),
    SIZED_TYPE(MPI_COMPLEX16, 16, 8, complex_float64),
    SIZED_TYPE(MPI_COMPLEX32, 32, 16, complex_float128),
};

struct NamedPair {
  MPI_Datatype constant;
  const char* name;
  MPI_Datatype value;
  MPI_Datatype index;
};

const NamedPair pair_types[] = {
    {MPI_FLOAT_INT, "MPI_FLOAT_INT", MPI_FLOAT, MPI_INT},
    {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", MPI_DOUBLE, MPI_INT},
    {MPI_LONG_INT, "MPI_LONG_INT", MPI_LONG, MPI_INT},
    {MPI_2INT, "MPI_2INT", MPI_INT, MPI_INT},
    {MPI_SHORT_INT, "MPI_SHORT_INT", MPI_SHORT, MPI_INT},
    {MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE, MPI_INT},
    {MPI_2REAL, "MPI_2REAL", MPI_REAL, MPI_REAL},
    {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
    {MPI_2INTEGER, "MPI_2INTEGER", MPI_INTEGER, MPI_INTEGER},
};

void enter(Datatype& type, MPI_Datatype constant, const char* name) {
  type.constant = constant;
  type.name = name;
  predefined_datatypes[reinterpret_cast<std::uintptr_t>(constant) - first_predefined_datatype] =
      &type;
}

/// A pair of two basic types, laid out as a C struct.
void describe_pair(Datatype& type, Datatype& value, Datatype& index) {
  type.size = value.size + index.size;
  type.element_count = 2;
  type.alignment = std::max(value.alignment, index.alignment);
  const auto align = [](MPI_Count bytes, MPI_Count alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  const MPI_Count displacement = align(value.size, index.alignment);
  type.true_extent = displacement + index.size;
  type.extent = align(type.true_extent, type.alignment);
  type.basic = Basic::pair;
  type.pair_value = value.basic;
  type.pair_index = index.basic;
  type.leaf = &type;
  type.committed = type.predefined = true;
  type.contiguous = type.extent == type.size;
  type.layout = Layout::of_two_runs(value.size, displacement, index.size);
}

/// Fills the table when the library is loaded; nothing in it changes afterwards.
struct Table {
  Datatype plain[std::size(plain_types)];
  Datatype pairs[std::size(pair_types)];

  Table() {
    for (std::size_t i = 0; i < std::size(plain_types); ++i) {
      const Named& named = plain_types[i];
      describe_plain(plain[i], named.basic, named.size, named.alignment);
      enter(plain[i], named.constant, named.name);
    }
    for (std::size_t i = 0; i < std::size(pair_types); ++i) {
      const NamedPair& named = pair_types[i];
      describe_pair(pairs[i], *resolve(named.value), *resolve(named.index));
      enter(pairs[i], named.constant, named.name);
    }
  }
  ~Table() = delete;  // ranks may still use datatypes while the process ends

  static void describe_plain(Datatype& type, Basic basic, int size, int alignment) {
    type.size = type.extent = type.true_extent = size;
    type.element_count = 1;
    type.alignment = static_cast<std::uint32_t>(alignment);
    type.basic = basic;
    type.leaf = &type;
    type.committed = type.contiguous = type.predefined = true;
    type.layout = Layout::of_run(size);
  }
};

alignas(Table) char table_storage[sizeof(Table)];
[[maybe_unused]] Table* const table = new (table_storage) Table;

}  // namespace

MPI_Datatype named_pair(MPI_Datatype value, MPI_Datatype index) {
  for (const NamedPair& named : pair_types) {
    if (named.value == value && named.index == index) {
      return named.constant;
    }
  }
  return MPI_DATATYPE_NULL;
}

}  // namespace meantime
