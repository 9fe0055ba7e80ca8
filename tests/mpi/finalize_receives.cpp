// MPI_Finalize is there for whoever sends to a freed receive, and leaves its buffer alone behind
// it: a small and a large message that come late, and a receive that gets none.
#include <memory>

#include "check.h"

using namespace check;

int main(int argc, char** argv) {
  start(argc, argv);
  const int large = 300000;
  auto small_ones = std::make_unique<std::vector<int>>(size, -1);
  auto large_ones = std::make_unique<std::vector<unsigned char>>(static_cast<size_t>(large) * size);
  int never = 0;
  if (rank == 0) {
    MPI_Request request;
    for (int r = 1; r < size; ++r) {
      MUST(MPI_Irecv(&(*small_ones)[r], 1, MPI_INT, r, 1, MPI_COMM_WORLD, &request));
      MUST(MPI_Request_free(&request));
      MUST(MPI_Irecv(large_ones->data() + static_cast<size_t>(large) * r, large, MPI_BYTE, r, 2,
                     MPI_COMM_WORLD, &request));
      MUST(MPI_Request_free(&request));
    }
    MUST(MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request));
    MUST(MPI_Request_free(&request));
  } else {
    std::vector<unsigned char> out(large);
    fill(out.data(), large, rank);
    sleep_ms(100);  // rank 0 is in MPI_Finalize
    MUST(MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    sleep_ms(50);
    MUST(MPI_Send(out.data(), large, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
  }
  MUST(MPI_Finalize());
  for (int r = 1; rank == 0 && r < size; ++r) {
    CHECK((*small_ones)[r] == r);
    CHECK(first_wrong(large_ones->data() + static_cast<size_t>(large) * r, large, r) < 0);
  }
  small_ones.reset();
  large_ones.reset();
  if (rank == 0) printf(" No Errors\n");
  return errors ? 1 : 0;
}
