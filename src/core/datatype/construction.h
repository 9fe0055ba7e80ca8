// How a derived datatype was made: the arguments of its constructor, for MPI_Type_get_contents and
// for walking the type map without expanding it. Every constructor boils down to blocks:
//   block   `length` elements of a type in a row, the first at a displacement in bytes
#pragma once

#include <mpi.h>

#include <vector>

#include "core/datatype/datatype.h"
#include "core/object/counts.h"

namespace meantime {

struct Block {
  MPI_Count displacement;
  MPI_Count length;
  const Datatype* type;
};

/// Whether a constructor was called in its int or its MPI_Count (`_c`) form: the envelope tells.
enum class Form : bool { plain, large };

struct Construction {
  Construction(int combiner, Form form) : combiner(combiner), form(form) {}
  Construction(const Construction&) = delete;
  Construction& operator=(const Construction&) = delete;
  ~Construction();

  int combiner;
  Form form;
  std::vector<MPI_Count> arguments;  ///< the constructor's, in its order, without the types
  std::vector<Datatype*> types;      ///< the constructor's; each is held
  /// What subarray and darray stand for: a derived type of our own making, held.
  Datatype* inner = nullptr;
  MPI_Count block_count = 1;

  /// Block `i` of [0, block_count). For strided constructors all blocks have the same length.
  Block block(MPI_Count i) const;
  /// The distance of the blocks if they are equal and equally spaced; then *stride is set.
  bool strided(MPI_Count* stride) const;
};

// Constructors. Each checks its arguments, makes an uncommitted type with one reference and returns
// an MPI error class. `old` is held by the new type.
int make_contiguous(MPI_Count count, Datatype& old, Form form, Datatype** made);
int make_vector(MPI_Count count, MPI_Count block_length, MPI_Count stride, Datatype& old, Form form,
                Datatype** made);
int make_hvector(MPI_Count count, MPI_Count block_length, MPI_Count stride, Datatype& old,
                 Form form, Datatype** made);
int make_indexed(MPI_Count count, const MPI_Count* block_lengths, const MPI_Count* displacements,
                 Datatype& old, Form form, Datatype** made);
int make_hindexed(MPI_Count count, const MPI_Count* block_lengths, const MPI_Count* displacements,
                  Datatype& old, Form form, Datatype** made);
int make_indexed_block(MPI_Count count, MPI_Count block_length, const MPI_Count* displacements,
                       Datatype& old, Form form, Datatype** made);
int make_hindexed_block(MPI_Count count, MPI_Count block_length, const MPI_Count* displacements,
                        Datatype& old, Form form, Datatype** made);
int make_struct(MPI_Count count, const MPI_Count* block_lengths, const MPI_Count* displacements,
                Datatype* const* types, Form form, Datatype** made);
int make_resized(Datatype& old, MPI_Count lb, MPI_Count extent, Form form, Datatype** made);
/// The arrays of these two are read one dimension after the other, up to the first wrong one.
int make_subarray(int dimensions, Counts sizes, Counts subsizes, Counts starts, int order,
                  Datatype& old, Form form, Datatype** made);
int make_darray(int size, int rank, int dimensions, Counts global_sizes, const int* distributions,
                const int* distribution_arguments, const int* process_sizes, int order,
                Datatype& old, Form form, Datatype** made);
/// The duplicate of a committed type is committed.
int make_dup(Datatype& old, Datatype** made);

/// Makes the layout; no-op for a committed type.
int commit(Datatype& type);

/// The unnamed predefined types (MPI 5.0, 18.1.9): one object per (precision, range) and process.
int find_f90_integer(int range, Datatype** found);
int find_f90_real(int precision, int range, Datatype** found);
int find_f90_complex(int precision, int range, Datatype** found);
int match_size(int type_class, int size, Datatype** found);
/// MPI_Type_get_value_index: *found is nullptr if there is none.
int find_value_index(const Datatype& value, const Datatype& index, Datatype** found);

/// The constant of the named pair of two named types, MPI_DATATYPE_NULL if there is none.
MPI_Datatype named_pair(MPI_Datatype value, MPI_Datatype index);

/// How many arguments of each class MPI_Type_get_contents gives.
struct Envelope {
  int combiner = MPI_COMBINER_NAMED;
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large_counts = 0;
  MPI_Count types = 0;
};
Envelope envelope_of(const Datatype& type);
/// Writes the arguments in the order of MPI 5.0, 5.1.13 to arrays as long as the envelope says. The
/// derived types among them get a reference for the user.
void contents_of(const Datatype& type, int* integers, MPI_Aint* addresses, MPI_Count* large_counts,
                 MPI_Datatype* types);

}  // namespace meantime
