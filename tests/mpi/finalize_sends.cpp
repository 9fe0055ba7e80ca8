// MPI_Finalize completes the sends that nobody waits for: buffered ones, and freed requests behind
// a freed receive whose message comes last of all.
#include "check.h"

using namespace check;

int main(int argc, char** argv) {
  start(argc, argv);
  const int buffered = 100000, large = 300000;
  const int space = buffered + MPI_BSEND_OVERHEAD;
  std::vector<unsigned char> attached(static_cast<size_t>(space) * size), out(large), in(large);
  std::vector<int> late(size, -1);
  if (rank == 0) {
    MUST(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
    MPI_Request request;
    for (int r = 1; r < size; ++r) {
      MUST(MPI_Irecv(&late[r], 1, MPI_INT, r, 3, MPI_COMM_WORLD, &request));
      MUST(MPI_Request_free(&request));
      fill(out.data(), buffered, r);
      MUST(MPI_Bsend(out.data(), buffered, MPI_BYTE, r, 1, MPI_COMM_WORLD));
    }
    fill(out.data(), large, 77);
    for (int r = 1; r < size; ++r) {
      MUST(MPI_Isend(out.data(), large, MPI_BYTE, r, 2, MPI_COMM_WORLD, &request));
      MUST(MPI_Request_free(&request));
    }
  } else {
    sleep_ms(200);  // rank 0 is in MPI_Finalize
    MUST(MPI_Recv(in.data(), large, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(first_wrong(in.data(), large, 77) < 0);
    MUST(MPI_Recv(in.data(), buffered, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(first_wrong(in.data(), buffered, rank) < 0);
    MUST(MPI_Send(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
  }
  MUST(MPI_Finalize());
  if (rank == 0) printf(" No Errors\n");
  return errors ? 1 : 0;
}
