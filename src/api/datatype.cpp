// MPI 5.0 chapter 5, but for packing (pack.cpp): constructors of datatypes, what they are made of,
// sizes, names.
#include "core/datatype/datatype.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "api/generated/calls.h"
#include "core/datatype/construction.h"
#include "core/error/error.h"
#include "core/object/attribute.h"
#include "core/object/counts.h"
#include "core/object/tables.h"

namespace meantime::api {
namespace {

Form form_of(bool large) {
  return large ? Form::large : Form::plain;
}

/// A count array as MPI_Counts; a copy only if the call was the int form.
class Wide {
 public:
  Wide(Counts values, MPI_Count count) {
    if (values.wide()) {
      data_ = static_cast<const MPI_Count*>(values.data());
    } else if (values) {
      copy_.resize(static_cast<std::size_t>(count));
      for (MPI_Count i = 0; i < count; ++i) {
        copy_[static_cast<std::size_t>(i)] = values[i];
      }
      data_ = copy_.data();
    }
  }
  operator const MPI_Count*() const { return data_; }  // NOLINT: an array to those who call

 private:
  std::vector<MPI_Count> copy_;
  const MPI_Count* data_ = nullptr;
};

/// Hands a constructor's result to the user.
template <class Make>
int give(MPI_Datatype* newtype, Make make) {
  Datatype* made = nullptr;
  const int error = make(&made);
  *newtype = error == MPI_SUCCESS ? made->handle() : MPI_DATATYPE_NULL;
  return error;
}

int not_made_by_int_form() {
  return fail(MPI_ERR_TYPE, "the datatype was made with large counts: use the _c form");
}

int check_room(const char* what, MPI_Count needed, MPI_Count room) {
  return needed <= room ? MPI_SUCCESS
                        : fail(MPI_ERR_ARG, "room for {} {} of {}", room, what, needed);
}

}  // namespace

// --- Constructors

int Type_contiguous(MPI_Count count, Datatype& oldtype, MPI_Datatype* newtype, bool large) {
  return give(newtype, [&](Datatype** made) {
    return make_contiguous(count, oldtype, form_of(large), made);
  });
}

int Type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& oldtype,
                MPI_Datatype* newtype, bool large) {
  return give(newtype, [&](Datatype** made) {
    return make_vector(count, blocklength, stride, oldtype, form_of(large), made);
  });
}

int Type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& oldtype,
                        MPI_Datatype* newtype, bool large) {
  return give(newtype, [&](Datatype** made) {
    return make_hvector(count, blocklength, stride, oldtype, form_of(large), made);
  });
}

int Type_indexed(MPI_Count count, Counts array_of_blocklengths,
                 Displacements array_of_displacements, Datatype& oldtype, MPI_Datatype* newtype,
                 bool large) {
  const Wide lengths(array_of_blocklengths, count);
  const Wide displacements(array_of_displacements, count);
  return give(newtype, [&](Datatype** made) {
    return make_indexed(count, lengths, displacements, oldtype, form_of(large), made);
  });
}

int Type_create_hindexed(MPI_Count count, Counts array_of_blocklengths,
                         Displacements array_of_displacements, Datatype& oldtype,
                         MPI_Datatype* newtype, bool large) {
  const Wide lengths(array_of_blocklengths, count);
  const Wide displacements(array_of_displacements, count);
  return give(newtype, [&](Datatype** made) {
    return make_hindexed(count, lengths, displacements, oldtype, form_of(large), made);
  });
}

int Type_create_indexed_block(MPI_Count count, MPI_Count blocklength,
                              Displacements array_of_displacements, Datatype& oldtype,
                              MPI_Datatype* newtype, bool large) {
  const Wide displacements(array_of_displacements, count);
  return give(newtype, [&](Datatype** made) {
    return make_indexed_block(count, blocklength, displacements, oldtype, form_of(large), made);
  });
}

int Type_create_hindexed_block(MPI_Count count, MPI_Count blocklength,
                               Displacements array_of_displacements, Datatype& oldtype,
                               MPI_Datatype* newtype, bool large) {
  const Wide displacements(array_of_displacements, count);
  return give(newtype, [&](Datatype** made) {
    return make_hindexed_block(count, blocklength, displacements, oldtype, form_of(large), made);
  });
}

int Type_create_struct(MPI_Count count, Counts array_of_blocklengths,
                       Displacements array_of_displacements, const MPI_Datatype array_of_types[],
                       MPI_Datatype* newtype, bool large) {
  const Wide lengths(array_of_blocklengths, count);
  const Wide displacements(array_of_displacements, count);
  std::vector<Datatype*> types(static_cast<std::size_t>(count));
  std::transform(array_of_types, array_of_types + count, types.begin(),
                 [](MPI_Datatype handle) { return resolve(handle); });
  return give(newtype, [&](Datatype** made) {
    return make_struct(count, lengths, displacements, types.data(), form_of(large), made);
  });
}

int Type_create_resized(Datatype& oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype,
                        bool large) {
  return give(newtype, [&](Datatype** made) {
    return make_resized(oldtype, lb, extent, form_of(large), made);
  });
}

int Type_create_subarray(int ndims, Counts array_of_sizes, Counts array_of_subsizes,
                         Counts array_of_starts, int order, Datatype& oldtype,
                         MPI_Datatype* newtype, bool large) {
  return give(newtype, [&](Datatype** made) {
    return make_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, oldtype,
                         form_of(large), made);
  });
}

int Type_create_darray(int size, int rank, int ndims, Counts array_of_gsizes,
                       const int array_of_distribs[], const int array_of_dargs[],
                       const int array_of_psizes[], int order, Datatype& oldtype,
                       MPI_Datatype* newtype, bool large) {
  return give(newtype, [&](Datatype** made) {
    return make_darray(size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs,
                       array_of_psizes, order, oldtype, form_of(large), made);
  });
}

int Type_dup(Datatype& oldtype, MPI_Datatype* newtype) {
  Datatype* duplicate = nullptr;
  *newtype = MPI_DATATYPE_NULL;
  int error = make_dup(oldtype, &duplicate);
  if (error != MPI_SUCCESS) {
    return error;
  }
  std::unique_ptr<Datatype, Drop> made(duplicate);
  const auto& attributes =
      oldtype.predefined ? core::tables().named_type_attributes[&oldtype] : oldtype.attributes;
  error = core::copy_attributes(attributes, oldtype.handle(), made->attributes);
  if (error != MPI_SUCCESS) {
    core::delete_attributes(made->attributes, made->handle());
    return error;
  }
  *newtype = made.release()->handle();
  return MPI_SUCCESS;
}

int Type_create_f90_integer(int r, MPI_Datatype* newtype) {
  return give(newtype, [&](Datatype** found) { return find_f90_integer(r, found); });
}

int Type_create_f90_real(int p, int r, MPI_Datatype* newtype) {
  return give(newtype, [&](Datatype** found) { return find_f90_real(p, r, found); });
}

int Type_create_f90_complex(int p, int r, MPI_Datatype* newtype) {
  return give(newtype, [&](Datatype** found) { return find_f90_complex(p, r, found); });
}

int Type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  return give(datatype, [&](Datatype** found) { return match_size(typeclass, size, found); });
}

int Type_get_value_index(Datatype& value_type, Datatype& index_type, MPI_Datatype* pair_type) {
  Datatype* found = nullptr;
  const int error = find_value_index(value_type, index_type, &found);
  *pair_type = found != nullptr ? found->handle() : MPI_DATATYPE_NULL;
  return error;
}

int Type_commit(MPI_Datatype* datatype) {
  return commit(*resolve(*datatype));
}

int Type_free(MPI_Datatype* datatype) {
  Datatype& type = *resolve(*datatype);
  if (type.predefined) {
    return fail(MPI_ERR_TYPE, "a predefined datatype cannot be freed");
  }
  // The attributes go with the last handle, though operations in flight may keep the type.
  if (type.user_handles == 1) {
    const int error = core::delete_attributes(type.attributes, type.handle());
    if (error != MPI_SUCCESS) {
      return error;
    }
  }
  --type.user_handles;
  drop(&type);
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

// --- What a datatype is made of

int Type_get_envelope(Datatype& datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                      int* combiner) {
  const Envelope envelope = envelope_of(datatype);
  if (envelope.large_counts > 0) {
    return not_made_by_int_form();
  }
  *num_integers = static_cast<int>(envelope.integers);
  *num_addresses = static_cast<int>(envelope.addresses);
  *num_datatypes = static_cast<int>(envelope.types);
  *combiner = envelope.combiner;
  return MPI_SUCCESS;
}

int Type_get_envelope_c(Datatype& datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                        MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner) {
  const Envelope envelope = envelope_of(datatype);
  *num_integers = envelope.integers;
  *num_addresses = envelope.addresses;
  *num_large_counts = envelope.large_counts;
  *num_datatypes = envelope.types;
  *combiner = envelope.combiner;
  return MPI_SUCCESS;
}

int Type_get_contents(Datatype& datatype, int max_integers, int max_addresses, int max_datatypes,
                      int array_of_integers[], MPI_Aint array_of_addresses[],
                      MPI_Datatype array_of_datatypes[]) {
  return Type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes,
                             array_of_integers, array_of_addresses, nullptr, array_of_datatypes);
}

int Type_get_contents_c(Datatype& datatype, MPI_Count max_integers, MPI_Count max_addresses,
                        MPI_Count max_large_counts, MPI_Count max_datatypes,
                        int array_of_integers[], MPI_Aint array_of_addresses[],
                        MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[]) {
  const Envelope envelope = envelope_of(datatype);
  if (envelope.combiner == MPI_COMBINER_NAMED) {
    return fail(MPI_ERR_TYPE, "a named datatype has no contents");
  }
  if (envelope.large_counts > 0 && array_of_large_counts == nullptr) {
    return not_made_by_int_form();
  }
  int error = check_room("integers", envelope.integers, max_integers);
  if (error == MPI_SUCCESS) {
    error = check_room("addresses", envelope.addresses, max_addresses);
  }
  if (error == MPI_SUCCESS) {
    error = check_room("large counts", envelope.large_counts, max_large_counts);
  }
  if (error == MPI_SUCCESS) {
    error = check_room("datatypes", envelope.types, max_datatypes);
  }
  if (error == MPI_SUCCESS) {
    contents_of(datatype, array_of_integers, array_of_addresses, array_of_large_counts,
                array_of_datatypes);
  }
  return error;
}

// --- Sizes and bounds

int Type_size(Datatype& datatype, MPI_Count* size) {
  *size = datatype.size;
  return MPI_SUCCESS;
}

int Type_size_x(Datatype& datatype, MPI_Count* size) {
  return Type_size(datatype, size);
}

int Type_get_extent(Datatype& datatype, MPI_Count* lb, MPI_Count* extent) {
  *lb = datatype.lb;
  *extent = datatype.extent;
  return MPI_SUCCESS;
}

int Type_get_extent_x(Datatype& datatype, MPI_Count* lb, MPI_Count* extent) {
  return Type_get_extent(datatype, lb, extent);
}

int Type_get_true_extent(Datatype& datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  *true_lb = datatype.true_lb;
  *true_extent = datatype.true_extent;
  return MPI_SUCCESS;
}

int Type_get_true_extent_x(Datatype& datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  return Type_get_true_extent(datatype, true_lb, true_extent);
}

// --- Names

int Type_set_name(Datatype& datatype, const char* type_name) {
  // Predefined datatypes are shared by all ranks of a process, their names are the rank's own.
  std::string& name =
      datatype.predefined ? core::tables().predefined_type_names[&datatype] : datatype.name;
  name.assign(type_name, strnlen(type_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int Type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
  const Datatype* type = resolve(datatype);
  if (type == nullptr && datatype != MPI_DATATYPE_NULL) {
    return fail(MPI_ERR_TYPE, "the handle is no datatype");
  }
  const auto& renamed = core::tables().predefined_type_names;
  const auto found = renamed.find(type);
  std::string_view name = "MPI_DATATYPE_NULL";
  if (type != nullptr) {
    name = found != renamed.end() ? found->second : type->name;
  }
  std::memcpy(type_name, name.data(), name.size());
  type_name[name.size()] = '\0';
  *resultlen = static_cast<int>(name.size());
  return MPI_SUCCESS;
}

}  // namespace meantime::api
