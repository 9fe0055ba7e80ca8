// MPI_BOTTOM and types with absolute addresses on both sides of an alltoall: equal buffers that are
// not in place.
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
  MUST(MPI_Type_free(&from));
  MUST(MPI_Type_free(&to));
  return finish();
}
