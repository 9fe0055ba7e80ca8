// MPI_BOTTOM and types or displacements that are absolute addresses, on both sides of an alltoall:
// equal buffers that are not in place.
#include "check.h"

using namespace check;

// One int at the address of `place`; further ones follow it.
static MPI_Datatype at(int* place) {
  const int length = 1;
  MPI_Aint address;
  MPI_Datatype bare, type;
  MUST(MPI_Get_address(place, &address));
  MUST(MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &bare));
  MUST(MPI_Type_create_resized(bare, 0, sizeof(int), &type));
  MUST(MPI_Type_commit(&type));
  MUST(MPI_Type_free(&bare));
  return type;
}

int main(int argc, char** argv) {
  start(argc, argv);
  std::vector<int> out(size), in(size, -1), ones(size, 1), places(size);
  for (int r = 0; r < size; ++r) {
    out[r] = rank * 1000 + r;
    places[r] = r * static_cast<int>(sizeof(int));
  }
  MPI_Datatype from = at(out.data()), to = at(in.data());
  const auto look = [&](const char* call) {
    for (int r = 0; r < size; ++r)
      CHECK(in[r] == r * 1000 + rank, "%s: %d from %d", call, in[r], r);
    in.assign(size, -1);
  };
  MUST(MPI_Alltoall(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, MPI_COMM_WORLD));
  look("Alltoall");
  MPI_Request request;
  MUST(MPI_Ialltoall(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, MPI_COMM_WORLD, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  look("Ialltoall");
  std::vector<MPI_Datatype> sends(size, from), receives(size, to);
  MUST(MPI_Alltoallw(MPI_BOTTOM, ones.data(), places.data(), sends.data(), MPI_BOTTOM, ones.data(),
                     places.data(), receives.data(), MPI_COMM_WORLD));
  look("Alltoallw");
  // Displacements may be the addresses themselves, of a type without any.
  std::vector<int> all(size);
  for (int r = 0; r < size; ++r) all[r] = r;
  MPI_Comm graph;
  MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, all.data(), MPI_UNWEIGHTED, size,
                                      all.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  std::vector<MPI_Aint> out_at(size), in_at(size);
  for (int r = 0; r < size; ++r) {
    MUST(MPI_Get_address(&out[r], &out_at[r]));
    MUST(MPI_Get_address(&in[r], &in_at[r]));
  }
  const std::vector<MPI_Datatype> ints(size, MPI_INT);
  MUST(MPI_Neighbor_alltoallw(MPI_BOTTOM, ones.data(), out_at.data(), ints.data(), MPI_BOTTOM,
                              ones.data(), in_at.data(), ints.data(), graph));
  look("Neighbor_alltoallw");
  MUST(MPI_Comm_free(&graph));
  MUST(MPI_Type_free(&from));
  MUST(MPI_Type_free(&to));
  return finish();
}
