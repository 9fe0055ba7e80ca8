// A mistake that ThreadSanitizer must see in thread ranks: rank 0 goes on writing to what it sends,
// while rank 1 receives it, out of rank 0's own memory.
#include <unistd.h>

#include "../mpi/check.h"

using namespace check;

int main(int argc, char** argv) {
  start(argc, argv);
  constexpr int count = 1 << 20;
  constexpr double seconds = 0.6;
  std::vector<char> data(count);
  if (rank == 0) {
    MPI_Request request;
    MPI_Isend(data.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < seconds;) {
      data[count / 2]++;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    usleep(useconds_t(seconds / 3 * 1e6));  // the send is not matched by its sender
    MPI_Recv(data.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return finish();
}
