// Errors about the data of a call: buffers that are the same memory in collectives, MPI_IN_PLACE in
// MPI_Reduce_local, no datatype where there are no elements, ranks that do not agree on the size of
// a broadcast, and a message that ends within an element.
#include <climits>

#include "check.h"

using namespace check;

namespace {

MPI_Comm world;

#define IS_BUFFER_ERROR(...)                                                                     \
  do {                                                                                           \
    const int code = (__VA_ARGS__);                                                              \
    CHECK(error_class(code) == MPI_ERR_BUFFER, "%s: class %d", #__VA_ARGS__, error_class(code)); \
  } while (0)

void same_memory() {
  std::vector<int> data(2 * size), counts(size, 2), places(size);
  for (int i = 0; i < size; ++i) places[i] = 2 * i;
  int* all = data.data();
  const int* two = counts.data();
  const int* at = places.data();
  const std::vector<MPI_Datatype> types(size, MPI_INT);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    IS_BUFFER_ERROR(MPI_Gatherv(all, 2, MPI_INT, all, two, at, MPI_INT, 0, world));
    IS_BUFFER_ERROR(MPI_Scatterv(all, two, at, MPI_INT, all, 2, MPI_INT, 0, world));
    IS_BUFFER_ERROR(MPI_Igatherv(all, 2, MPI_INT, all, two, at, MPI_INT, 0, world, &request));
  }
  IS_BUFFER_ERROR(MPI_Allgather(all + 2 * rank, 2, MPI_INT, all, 2, MPI_INT, world));
  IS_BUFFER_ERROR(MPI_Allgatherv(all + 2 * rank, 2, MPI_INT, all, two, at, MPI_INT, world));
  IS_BUFFER_ERROR(MPI_Alltoallv(all, two, at, MPI_INT, all, two, at, MPI_INT, world));
  IS_BUFFER_ERROR(MPI_Alltoallw(all, two, at, types.data(), all, two, at, types.data(), world));
  IS_BUFFER_ERROR(MPI_Reduce_scatter(all, all, two, MPI_INT, MPI_SUM, world));
  IS_BUFFER_ERROR(MPI_Ialltoallv(all, two, at, MPI_INT, all, two, at, MPI_INT, world, &request));
  CHECK(request == MPI_REQUEST_NULL);
  IS_BUFFER_ERROR(MPI_Reduce_local(MPI_IN_PLACE, all, 1, MPI_INT, MPI_SUM));
  IS_BUFFER_ERROR(MPI_Reduce_local(all, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
  IS_BUFFER_ERROR(MPI_Reduce_local(all, all, 1, MPI_INT, MPI_SUM));
}

/// One address, but the types have their data at different places behind it.
void same_address() {
  const int one = 1;
  MPI_Datatype first, second;
  for (const int place : {0, 1}) {
    const int at = place * size;
    MPI_Datatype block;
    MUST(MPI_Type_indexed(1, &one, &at, MPI_INT, &block));
    MUST(MPI_Type_create_resized(block, 0, sizeof(int), place == 0 ? &first : &second));
    MUST(MPI_Type_commit(place == 0 ? &first : &second));
    MUST(MPI_Type_free(&block));
  }
  std::vector<int> data(2 * size);
  for (int i = 0; i < size; ++i) data[i] = 100 * rank + i;
  MUST(MPI_Alltoall(data.data(), 1, first, data.data(), 1, second, world));
  for (int i = 0; i < size; ++i) CHECK(data[size + i] == 100 * i + rank);
  MUST(MPI_Type_free(&first));
  MUST(MPI_Type_free(&second));
}

void nothing_of_no_type() {
  MUST(MPI_Sendrecv(nullptr, 0, MPI_BYTE, rank, 1, nullptr, 0, MPI_BYTE, rank, 1, world,
                    MPI_STATUS_IGNORE));
  MPI_Request request;
  MUST(MPI_Irecv(nullptr, 0, MPI_DATATYPE_NULL, rank, 1, world, &request));
  MUST(MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, rank, 1, world));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(error_class(MPI_Send(&request, 1, MPI_DATATYPE_NULL, rank, 1, world)) == MPI_ERR_TYPE);
}

/// What is not there need not be, or gives an error class.
void no_buffers_and_no_arrays() {
  int data[4] = {};
  char bytes[64];
  int at = 0;
  for (void* none : {static_cast<void*>(nullptr), static_cast<void*>(MPI_IN_PLACE)}) {
    IS_BUFFER_ERROR(MPI_Pack(none, 4, MPI_INT, bytes, sizeof bytes, &at, MPI_COMM_SELF));
    IS_BUFFER_ERROR(MPI_Pack(data, 4, MPI_INT, none, sizeof bytes, &at, MPI_COMM_SELF));
    IS_BUFFER_ERROR(MPI_Unpack(none, sizeof bytes, &at, data, 4, MPI_INT, MPI_COMM_SELF));
    IS_BUFFER_ERROR(MPI_Unpack(bytes, sizeof bytes, &at, none, 4, MPI_INT, MPI_COMM_SELF));
    MPI_Aint place = 0;
    IS_BUFFER_ERROR(MPI_Pack_external("external32", none, 4, MPI_INT, bytes, sizeof bytes, &place));
    IS_BUFFER_ERROR(MPI_Pack_external("external32", data, 4, MPI_INT, none, sizeof bytes, &place));
    IS_BUFFER_ERROR(
        MPI_Unpack_external("external32", none, sizeof bytes, &place, data, 4, MPI_INT));
    IS_BUFFER_ERROR(
        MPI_Unpack_external("external32", bytes, sizeof bytes, &place, none, 4, MPI_INT));
    CHECK(at == 0 && place == 0);
  }
  MUST(MPI_Pack(nullptr, 0, MPI_INT, nullptr, 0, &at, MPI_COMM_SELF));
  const std::vector<int> zeros(size);
  const int* none = zeros.data();
  MUST(MPI_Alltoallw(data, none, none, nullptr, data, none, none, nullptr, world));
  MPI_Request request;
  MUST(MPI_Ialltoallw(data, none, nullptr, nullptr, data, none, nullptr, nullptr, world, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (const MPI_Fint number : {INT_MIN, -1, INT_MAX}) {
    int members = 0;
    CHECK(error_class(MPI_Comm_size(MPI_Comm_f2c(number), &members)) == MPI_ERR_COMM);
    CHECK(error_class(MPI_Type_size(MPI_Type_f2c(number), &members)) == MPI_ERR_TYPE);
  }
}

/// NULL is MPI_BOTTOM, from which only types with addresses in them lead anywhere.
void null_with_a_derived_type() {
  MPI_Datatype two, gapped, resized;
  MUST(MPI_Type_contiguous(2, MPI_INT, &two));
  MUST(MPI_Type_vector(2, 1, 2, MPI_INT, &gapped));
  MUST(MPI_Type_create_resized(MPI_INT, 0, 8, &resized));
  std::vector<int> data(4 * size);
  const std::vector<int> ones(size, 1), places(size);
  const int *one = ones.data(), *at = places.data();
  for (MPI_Datatype type : {two, gapped, resized}) {
    MUST(MPI_Type_commit(&type));
    MPI_Request request;
    char bytes[64] = {};
    int position = 0;
    const std::vector<MPI_Datatype> types(size, type);
    IS_BUFFER_ERROR(MPI_Send(nullptr, 1, type, rank, 1, world));
    IS_BUFFER_ERROR(MPI_Irecv(nullptr, 1, type, rank, 1, world, &request));
    IS_BUFFER_ERROR(MPI_Bcast(nullptr, 1, type, 0, world));
    IS_BUFFER_ERROR(MPI_Allgatherv(nullptr, 1, type, data.data(), one, at, type, world));
    IS_BUFFER_ERROR(MPI_Ialltoall(nullptr, 1, type, data.data(), 1, type, world, &request));
    IS_BUFFER_ERROR(
        MPI_Alltoallw(nullptr, one, at, types.data(), data.data(), one, at, types.data(), world));
    IS_BUFFER_ERROR(MPI_Pack(nullptr, 1, type, bytes, sizeof bytes, &position, world));
    IS_BUFFER_ERROR(MPI_Unpack(bytes, sizeof bytes, &position, nullptr, 1, type, world));
    MUST(MPI_Type_free(&type));
  }
}

/// Whoever expects another number than the root gives is told.
void other_sizes() {
  int data[10] = {};
  for (const bool non_blocking : {false, true}) {
    for (const int given : {1, 10}) {
      const int count = rank == 0 ? given : 11 - given;
      int error;
      if (non_blocking) {
        MPI_Request request;
        MUST(MPI_Ibcast(data, count, MPI_INT, 0, world, &request));
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else if (on_mpich()) {
        continue;  // which waits for ever
      } else {
        error = MPI_Bcast(data, count, MPI_INT, 0, world);
      }
      if (rank != 0) CHECK(error != MPI_SUCCESS, "%d given", given);
    }
  }
}

/// Three bytes for a datatype of ints with a gap.
void half_an_element() {
  MPI_Datatype gapped;
  const int lengths[] = {1, 2}, places[] = {1, 4};
  MUST(MPI_Type_indexed(2, lengths, places, MPI_INT, &gapped));
  MUST(MPI_Type_commit(&gapped));
  char three[3] = {1, 2, 3};
  int in[8] = {};
  MPI_Request request;
  MUST(MPI_Isend(three, 3, MPI_CHAR, rank, 4, world, &request));
  const int error = MPI_Recv(in, 1, gapped, rank, 4, world, MPI_STATUS_IGNORE);
  CHECK(error != MPI_SUCCESS || (on_mpich() && size == 1));  // which does not look there
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  // Whole elements that are fewer than the type has are no error.
  int two[] = {5, 6};
  MPI_Status status;
  MUST(MPI_Isend(two, 2, MPI_INT, rank, 4, world, &request));
  MUST(MPI_Recv(in, 1, gapped, rank, 4, world, &status));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int elements = 0;
  MUST(MPI_Get_elements(&status, gapped, &elements));
  CHECK(elements == 2 && in[1] == 5 && in[4] == 6);
  MUST(MPI_Type_free(&gapped));
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &world));
  MUST(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  same_memory();
  same_address();
  nothing_of_no_type();
  if (!on_mpich()) {  // which checks less
    no_buffers_and_no_arrays();
    null_with_a_derived_type();
  }
  other_sizes();
  half_an_element();
  MUST(MPI_Comm_free(&world));
  return finish();
}
