// MPI_Type_create_subarray and MPI_Type_create_darray: both are strided loops, one a dimension,
// with bounds set to those of the whole array (MPI 5.0, 5.1.3 and 5.1.4).
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/datatype/construction.h"
#include "core/error/error.h"

namespace meantime {

namespace {

/// Owns the intermediate types while an array type is put together.
class Steps {
 public:
  explicit Steps(Datatype& first) : type_(hold(first)) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps() { drop(type_); }

  Datatype& type() { return *type_; }
  /// Goes on with a type made of the last one.
  int next(int error, Datatype* made) {
    if (error == MPI_SUCCESS) {
      drop(type_);
      type_ = made;
    }
    return error;
  }
  int repeat(MPI_Count count, MPI_Count stride) {
    Datatype* made = nullptr;
    const int error = make_hvector(count, 1, stride, *type_, Form::large, &made);
    return next(error, made);
  }
  int shift(MPI_Count displacement) {
    Datatype* made = nullptr;
    const int error = make_hindexed_block(1, 1, &displacement, *type_, Form::large, &made);
    return next(error, made);
  }

 private:
  Datatype* type_;
};

/// The dimensions from the one whose elements are neighbours to the slowest.
std::vector<int> from_fastest(int dimensions, int order) {
  std::vector<int> result(static_cast<std::size_t>(dimensions));
  std::iota(result.begin(), result.end(), 0);
  if (order == MPI_ORDER_C) {
    std::reverse(result.begin(), result.end());
  }
  return result;
}

int check_order(int dimensions, int order) {
  if (dimensions < 1) {
    return fail(MPI_ERR_ARG, "number of dimensions is {}", dimensions);
  }
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
    return fail(MPI_ERR_ARG, "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
  }
  return MPI_SUCCESS;
}

void add(Counts list, int dimensions, std::vector<MPI_Count>& arguments) {
  for (int i = 0; i < dimensions; ++i) {
    arguments.push_back(list[i]);
  }
}

int whole_array(int dimensions, Counts sizes, MPI_Count extent, MPI_Count* bytes) {
  *bytes = extent;
  for (int i = 0; i < dimensions; ++i) {
    if (__builtin_mul_overflow(*bytes, sizes[i], bytes)) {
      return fail(MPI_ERR_VALUE_TOO_LARGE, "the array's bytes exceed MPI_Count");
    }
  }
  return MPI_SUCCESS;
}

int finish(int combiner, Form form, std::vector<MPI_Count> arguments, Datatype& old, Steps& steps,
           MPI_Count bytes, Datatype** made) {
  Datatype* resized = nullptr;
  if (const int error = make_resized(steps.type(), 0, bytes, Form::large, &resized);
      error != MPI_SUCCESS) {
    return error;
  }
  // The resized type becomes the array type: what it resized is the inner one.
  Construction& construction = *resized->construction;
  construction.inner = construction.types[0];
  construction.types[0] = hold(old);
  construction.combiner = combiner;
  construction.form = form;
  construction.arguments = std::move(arguments);
  *made = resized;
  return MPI_SUCCESS;
}

/// What one process owns of one dimension of a distributed array.
struct Share {
  MPI_Count first = 0;   ///< index of its first element
  MPI_Count block = 0;   ///< elements in a row
  MPI_Count blocks = 0;  ///< full blocks …
  MPI_Count cycle = 0;   ///< … this many elements apart
  MPI_Count tail = 0;    ///< elements of a last, shorter block
};

Share share_of(MPI_Count size, int distribution, int argument, int processes, int coordinate) {
  Share share;
  if (distribution == MPI_DISTRIBUTE_CYCLIC) {
    share.block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
  } else if (distribution == MPI_DISTRIBUTE_BLOCK && argument != MPI_DISTRIBUTE_DFLT_DARG) {
    share.block = argument;
  } else {
    share.block = (size + processes - 1) / processes;
  }
  share.first = share.block * coordinate;
  share.cycle = share.block * processes;
  if (share.first >= size) {
    return share;
  }
  const MPI_Count rest = size - share.first;
  share.blocks = rest / share.cycle;
  const MPI_Count last = rest - share.blocks * share.cycle;
  if (last >= share.block) {
    ++share.blocks;
  } else {
    share.tail = last;
  }
  return share;
}

int distribute(Steps& steps, const Share& share, MPI_Count stride) {
  Datatype* block = nullptr;
  if (const int error = make_hvector(share.block, 1, stride, steps.type(), Form::large, &block);
      error != MPI_SUCCESS) {
    return error;
  }
  Datatype* tail = nullptr;
  int error = make_hvector(share.tail, 1, stride, steps.type(), Form::large, &tail);
  Datatype* full = nullptr;
  if (error == MPI_SUCCESS) {
    error = make_hvector(share.blocks, 1, share.cycle * stride, *block, Form::large, &full);
  }
  Datatype* made = nullptr;
  if (error == MPI_SUCCESS) {
    const MPI_Count lengths[] = {1, 1};
    const MPI_Count displacements[] = {share.first * stride,
                                       (share.first + share.blocks * share.cycle) * stride};
    Datatype* const types[] = {full, tail};
    error = make_struct(2, lengths, displacements, types, Form::large, &made);
    drop(full);
  }
  if (tail != nullptr) {
    drop(tail);
  }
  drop(block);
  return steps.next(error, made);
}

int check_distribution(int distribution, int argument, int processes, MPI_Count size) {
  switch (distribution) {
    case MPI_DISTRIBUTE_NONE:
      return processes == 1
                 ? MPI_SUCCESS
                 : fail(MPI_ERR_ARG, "an undistributed dimension over {} processes", processes);
    case MPI_DISTRIBUTE_BLOCK:
      if (argument != MPI_DISTRIBUTE_DFLT_DARG &&
          (argument <= 0 || MPI_Count(argument) * processes < size)) {
        return fail(MPI_ERR_ARG, "blocks of {} over {} processes do not cover {} elements",
                    argument, processes, size);
      }
      return MPI_SUCCESS;
    case MPI_DISTRIBUTE_CYCLIC:
      return argument == MPI_DISTRIBUTE_DFLT_DARG || argument > 0
                 ? MPI_SUCCESS
                 : fail(MPI_ERR_ARG, "distribution argument is {}", argument);
    default:
      return fail(MPI_ERR_ARG, "{} is no distribution", distribution);
  }
}

}  // namespace

int make_subarray(int dimensions, Counts sizes, Counts subsizes, Counts starts, int order,
                  Datatype& old, Form form, Datatype** made) {
  int error = check_order(dimensions, order);
  if (error != MPI_SUCCESS) {
    return error;
  }
  for (int i = 0; i < dimensions; ++i) {
    if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || subsizes[i] > sizes[i] ||
        starts[i] > sizes[i] - subsizes[i]) {
      return fail(MPI_ERR_ARG, "dimension {}: {} elements from {} on do not lie in {}", i,
                  subsizes[i], starts[i], sizes[i]);
    }
  }
  MPI_Count bytes = 0;
  error = whole_array(dimensions, sizes, old.extent, &bytes);
  if (error != MPI_SUCCESS) {
    return error;
  }
  Steps steps(old);
  MPI_Count stride = old.extent;
  MPI_Count displacement = 0;
  for (int dimension : from_fastest(dimensions, order)) {
    error = steps.repeat(subsizes[dimension], stride);
    if (error != MPI_SUCCESS) {
      return error;
    }
    displacement += starts[dimension] * stride;
    stride *= sizes[dimension];
  }
  error = steps.shift(displacement);
  if (error != MPI_SUCCESS) {
    return error;
  }
  std::vector<MPI_Count> arguments = {dimensions};
  for (const Counts& list : {sizes, subsizes, starts}) {
    add(list, dimensions, arguments);
  }
  arguments.push_back(order);
  return finish(MPI_COMBINER_SUBARRAY, form, std::move(arguments), old, steps, bytes, made);
}

int make_darray(int size, int rank, int dimensions, Counts global_sizes, const int* distributions,
                const int* distribution_arguments, const int* process_sizes, int order,
                Datatype& old, Form form, Datatype** made) {
  int error = check_order(dimensions, order);
  if (error != MPI_SUCCESS) {
    return error;
  }
  if (size < 1) {
    return fail(MPI_ERR_ARG, "{} processes", size);
  }
  if (rank < 0 || rank >= size) {
    return fail(MPI_ERR_RANK, "rank {} of {}", rank, size);
  }
  MPI_Count processes = 1;
  for (int i = 0; i < dimensions; ++i) {
    if (global_sizes[i] < 1 || process_sizes[i] < 1) {
      return fail(MPI_ERR_ARG, "dimension {}: {} elements over {} processes", i, global_sizes[i],
                  process_sizes[i]);
    }
    error = check_distribution(distributions[i], distribution_arguments[i], process_sizes[i],
                               global_sizes[i]);
    if (error != MPI_SUCCESS) {
      return error;
    }
    processes = processes * process_sizes[i] <= size ? processes * process_sizes[i] : size + 1;
  }
  if (processes != size) {
    return fail(MPI_ERR_ARG, "the process grid does not have {} processes", size);
  }
  MPI_Count bytes = 0;
  error = whole_array(dimensions, global_sizes, old.extent, &bytes);
  if (error != MPI_SUCCESS) {
    return error;
  }
  // The process grid is row-major whatever the array's order.
  std::vector<int> coordinates(static_cast<std::size_t>(dimensions));
  for (int i = dimensions - 1, rest = rank; i >= 0; rest /= process_sizes[i--]) {
    coordinates[static_cast<std::size_t>(i)] = rest % process_sizes[i];
  }
  Steps steps(old);
  MPI_Count stride = old.extent;
  for (int i : from_fastest(dimensions, order)) {
    const Share share = share_of(global_sizes[i], distributions[i], distribution_arguments[i],
                                 process_sizes[i], coordinates[static_cast<std::size_t>(i)]);
    error = distribute(steps, share, stride);
    if (error != MPI_SUCCESS) {
      return error;
    }
    stride *= global_sizes[i];
  }
  std::vector<MPI_Count> arguments = {size, rank, dimensions};
  for (const Counts& list : {global_sizes, Counts(distributions), Counts(distribution_arguments),
                             Counts(process_sizes)}) {
    add(list, dimensions, arguments);
  }
  arguments.push_back(order);
  return finish(MPI_COMBINER_DARRAY, form, std::move(arguments), old, steps, bytes, made);
}

}  // namespace meantime
