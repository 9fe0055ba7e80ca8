// Predefined datatypes without a name: those that a Fortran precision and range select (as gfortran
// would: MPI 5.0, 18.1.9), and pairs of a value and an index beyond the named ones (6.9.4). Each is
// made once a process, for all its ranks, never changes and is never freed.
#include <map>
#include <mutex>
#include <new>
#include <tuple>

#include "core/datatype/construction.h"
#include "core/datatype/layout.h"
#include "core/error.h"

namespace meantime {

namespace {

struct FortranKind {
  int precision;
  int range;
  MPI_Datatype real;
  MPI_Datatype complex;
};

/// gfortran on x86-64: kinds 4, 8, 10 and 16.
const FortranKind real_kinds[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};

struct IntegerKind {
  int range;
  MPI_Datatype type;
};

const IntegerKind integer_kinds[] = {
    {2, MPI_INTEGER1},  {4, MPI_INTEGER2},   {9, MPI_INTEGER4},
    {18, MPI_INTEGER8}, {38, MPI_INTEGER16},
};

/// combiner and two arguments (numbers, or addresses of types) to the one object for them.
using Key = std::tuple<int, std::int64_t, std::int64_t>;

/// Returns the known object, or lets `describe` fill in a new one. Any thread.
template <class Describe>
int find_or_make(const Key& key, Describe describe, Datatype** found) {
  static std::mutex mutex;
  static auto& known = *new std::map<Key, Datatype*>;  // outlives the ranks
  try {
    const std::lock_guard lock(mutex);
    Datatype*& entry = known[key];
    if (entry == nullptr) {
      entry = new Datatype;
      describe(*entry);
    }
    *found = entry;
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a datatype");
  }
}

int find_selected(int combiner, std::vector<MPI_Count> arguments, Datatype& named,
                  Datatype** found) {
  const Key key(combiner, arguments[0], arguments.size() > 1 ? arguments[1] : 0);
  return find_or_make(
      key,
      [&](Datatype& type) {
        type.size = type.extent = type.true_extent = named.size;
        type.element_count = 1;
        type.alignment = named.alignment;
        type.basic = named.basic;
        type.leaf = &named;
        type.committed = type.contiguous = type.predefined = true;
        type.layout = named.layout;
        type.construction = std::make_unique<Construction>(combiner, Form::plain);
        type.construction->arguments = std::move(arguments);
      },
      found);
}

const FortranKind* select_real(int precision, int range) {
  for (const FortranKind& kind : real_kinds) {
    if ((precision == MPI_UNDEFINED || precision <= kind.precision) &&
        (range == MPI_UNDEFINED || range <= kind.range)) {
      return &kind;
    }
  }
  return nullptr;
}

int no_kind(const char* what, int precision, int range) {
  return fail(MPI_ERR_ARG, "no {} has precision {} and range {}", what, precision, range);
}

bool is_integer(Basic basic) {
  return basic >= Basic::int8 && basic <= Basic::fortran_int64;
}

bool is_value(Basic basic) {
  return is_integer(basic) || (basic >= Basic::float32 && basic <= Basic::float128);
}

MPI_Datatype named_pair(MPI_Datatype value, MPI_Datatype index) {
  for (MPI_Datatype pair : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
                            MPI_LONG_DOUBLE_INT, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER}) {
    MPI_Datatype its_value = MPI_DATATYPE_NULL;
    MPI_Datatype its_index = MPI_DATATYPE_NULL;
    parts_of_pair(pair, &its_value, &its_index);
    if (its_value == value && its_index == index) {
      return pair;
    }
  }
  return MPI_DATATYPE_NULL;
}

}  // namespace

int find_f90_integer(int range, Datatype** found) {
  for (const IntegerKind& kind : integer_kinds) {
    if (range <= kind.range) {
      return find_selected(MPI_COMBINER_F90_INTEGER, {range}, *resolve(kind.type), found);
    }
  }
  return fail(MPI_ERR_ARG, "no INTEGER has range {}", range);
}

int find_f90_real(int precision, int range, Datatype** found) {
  const FortranKind* kind = select_real(precision, range);
  return kind == nullptr ? no_kind("REAL", precision, range)
                         : find_selected(MPI_COMBINER_F90_REAL, {precision, range},
                                         *resolve(kind->real), found);
}

int find_f90_complex(int precision, int range, Datatype** found) {
  const FortranKind* kind = select_real(precision, range);
  return kind == nullptr ? no_kind("COMPLEX", precision, range)
                         : find_selected(MPI_COMBINER_F90_COMPLEX, {precision, range},
                                         *resolve(kind->complex), found);
}

int match_size(int type_class, int size, Datatype** found) {
  const auto first_of_size = [&](std::initializer_list<MPI_Datatype> types, const char* what) {
    for (MPI_Datatype type : types) {
      if (resolve(type)->size == size) {
        *found = resolve(type);
        return MPI_SUCCESS;
      }
    }
    return fail(MPI_ERR_ARG, "no {} has a size of {} bytes", what, size);
  };
  switch (type_class) {
    case MPI_TYPECLASS_INTEGER:
      return first_of_size({MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16},
                           "INTEGER");
    case MPI_TYPECLASS_REAL:
      return first_of_size({MPI_REAL2, MPI_REAL4, MPI_REAL8, MPI_REAL16}, "REAL");
    case MPI_TYPECLASS_COMPLEX:
      return first_of_size({MPI_COMPLEX4, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32}, "COMPLEX");
    default:
      return fail(MPI_ERR_ARG, "{} is no type class", type_class);
  }
}

int find_value_index(Datatype& value, Datatype& index, Datatype** found) {
  *found = nullptr;
  if (const MPI_Datatype pair = named_pair(value.constant, index.constant);
      pair != MPI_DATATYPE_NULL) {
    *found = resolve(pair);
    return MPI_SUCCESS;
  }
  const bool named = value.constant != MPI_DATATYPE_NULL && index.constant != MPI_DATATYPE_NULL;
  if (!named || !is_value(value.basic) || !is_integer(index.basic)) {
    return MPI_SUCCESS;
  }
  const Key key(MPI_COMBINER_VALUE_INDEX, reinterpret_cast<std::intptr_t>(&value),
                reinterpret_cast<std::intptr_t>(&index));
  return find_or_make(
      key,
      [&](Datatype& type) {
        describe_pair(type, value, index);
        type.construction = std::make_unique<Construction>(MPI_COMBINER_VALUE_INDEX, Form::plain);
        type.construction->types = {&value, &index};
      },
      found);
}

}  // namespace meantime
