// MPI_Type_get_envelope and MPI_Type_get_contents (MPI 5.0, 5.1.13). The arguments of a constructor
// fall into classes; which class an argument is of depends on whether the constructor was called in
// its int or in its MPI_Count form.
#include <algorithm>

#include "core/datatype/construction.h"

namespace meantime {

namespace {

/// What an argument is: always an int; a count (large in the MPI_Count form, else an int); or a
/// displacement (large in the MPI_Count form, else an address).
enum class Class { integer, count, displacement };

/// Calls visit(class, first, last) for each stretch of arguments of one class, in their order.
template <class Visit>
void for_each_stretch(const Construction& construction, Visit visit) {
  const auto& list = construction.arguments;
  const std::size_t n = list.size();
  switch (construction.combiner) {
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
      visit(Class::count, 0, n);
      break;
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK:
      visit(Class::count, 0, 2);
      visit(Class::displacement, 2, n);
      break;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      visit(Class::count, 0, 1 + n / 2);
      visit(Class::displacement, 1 + n / 2, n);
      break;
    case MPI_COMBINER_RESIZED:
      visit(Class::displacement, 0, n);
      break;
    case MPI_COMBINER_SUBARRAY:
      visit(Class::integer, 0, 1);
      visit(Class::count, 1, n - 1);
      visit(Class::integer, n - 1, n);
      break;
    case MPI_COMBINER_DARRAY: {
      const auto dimensions = static_cast<std::size_t>(list[2]);
      visit(Class::integer, 0, 3);
      visit(Class::count, 3, 3 + dimensions);
      visit(Class::integer, 3 + dimensions, n);
      break;
    }
    default:
      visit(Class::integer, 0, n);
  }
}

}  // namespace

Envelope envelope_of(const Datatype& type) {
  Envelope envelope;
  if (!type.construction) {
    return envelope;
  }
  const Construction& construction = *type.construction;
  envelope.combiner = construction.combiner;
  envelope.types = static_cast<MPI_Count>(construction.types.size());
  for_each_stretch(construction, [&](Class kind, std::size_t first, std::size_t last) {
    const auto count = static_cast<MPI_Count>(last - first);
    if (kind == Class::integer || (kind == Class::count && construction.form == Form::plain)) {
      envelope.integers += count;
    } else if (construction.form == Form::plain) {
      envelope.addresses += count;
    } else {
      envelope.large_counts += count;
    }
  });
  return envelope;
}

void contents_of(const Datatype& type, int* integers, MPI_Aint* addresses, MPI_Count* large_counts,
                 MPI_Datatype* types) {
  const Construction& construction = *type.construction;
  for_each_stretch(construction, [&](Class kind, std::size_t first, std::size_t last) {
    const MPI_Count* const begin = construction.arguments.data() + first;
    const MPI_Count* const end = construction.arguments.data() + last;
    if (kind == Class::integer || (kind == Class::count && construction.form == Form::plain)) {
      integers = std::transform(begin, end, integers,
                                [](MPI_Count value) { return static_cast<int>(value); });
    } else if (construction.form == Form::plain) {
      addresses = std::copy(begin, end, addresses);
    } else {
      large_counts = std::copy(begin, end, large_counts);
    }
  });
  std::transform(construction.types.begin(), construction.types.end(), types, [](Datatype* child) {
    if (!child->predefined) {  // those are never freed, and one for all ranks of a host
      ++child->user_handles;
    }
    return hold(*child)->handle();
  });
}

}  // namespace meantime
