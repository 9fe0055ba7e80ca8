// Predefined datatypes without a name: those that a Fortran precision and range select (as gfortran
// would: MPI 5.0, 18.1.9). Each is made once a process, for all its ranks, never changes and is
// never freed.
#include <map>
#include <new>
#include <tuple>

#include "base/lock.h"
#include "core/datatype/construction.h"
#include "core/datatype/layout.h"
#include "core/error/error.h"

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

/// Combiner, precision and range: one object each.
using Key = std::tuple<int, MPI_Count, MPI_Count>;

void describe(Datatype& type, int combiner, std::vector<MPI_Count> arguments, Datatype& named) {
  type.size = type.extent = type.true_extent = named.size;
  type.element_count = 1;
  type.alignment = named.alignment;
  type.basic = named.basic;
  type.leaf = &named;
  type.committed = type.contiguous = type.predefined = true;
  type.layout = named.layout;
  type.construction = std::make_unique<Construction>(combiner, Form::plain);
  type.construction->arguments = std::move(arguments);
}

/// Any thread.
int find_selected(int combiner, std::vector<MPI_Count> arguments, MPI_Datatype named,
                  Datatype** found) {
  static Mutex mutex;
  static auto& known MEANTIME_GUARDED_BY(mutex) =
      *new std::map<Key, Datatype*>;  // outlives the ranks
  const Key key(combiner, arguments[0], arguments.size() > 1 ? arguments[1] : 0);
  try {
    const LockGuard lock(mutex);
    Datatype*& entry = known[key];
    if (entry == nullptr) {
      entry = new Datatype;
      describe(*entry, combiner, std::move(arguments), *resolve(named));
    }
    *found = entry;
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a datatype");
  }
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
  return fail(MPI_ERR_OTHER, "no {} has precision {} and range {}", what, precision, range);
}

}  // namespace

int find_f90_integer(int range, Datatype** found) {
  for (const IntegerKind& kind : integer_kinds) {
    if (range <= kind.range) {
      return find_selected(MPI_COMBINER_F90_INTEGER, {range}, kind.type, found);
    }
  }
  return fail(MPI_ERR_OTHER, "no INTEGER has range {}", range);
}

int find_f90_real(int precision, int range, Datatype** found) {
  const FortranKind* kind = select_real(precision, range);
  return kind == nullptr
             ? no_kind("REAL", precision, range)
             : find_selected(MPI_COMBINER_F90_REAL, {precision, range}, kind->real, found);
}

int find_f90_complex(int precision, int range, Datatype** found) {
  const FortranKind* kind = select_real(precision, range);
  return kind == nullptr
             ? no_kind("COMPLEX", precision, range)
             : find_selected(MPI_COMBINER_F90_COMPLEX, {precision, range}, kind->complex, found);
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

int find_value_index(const Datatype& value, const Datatype& index, Datatype** found) {
  // The named pairs are all there are, as in MPICH and Open MPI.
  const bool named = value.constant != MPI_DATATYPE_NULL && index.constant != MPI_DATATYPE_NULL;
  *found = named ? resolve(named_pair(value.constant, index.constant)) : nullptr;
  return MPI_SUCCESS;
}

}  // namespace meantime
