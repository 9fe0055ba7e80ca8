// Communicators for ever: made, used by collectives and freed again and again, of changing sizes
// and by changing leaders. Nothing may run out: --rounds=N, --bytes=N of the broadcast.
#include "check.h"

int main(int argc, char** argv) {
  check::start(argc, argv);
  const long rounds = check::option("rounds", 300);
  std::vector<char> data(check::option("bytes", 20000));
  for (long round = 0; round < rounds; ++round) {
    const int color = check::rank % (1 + static_cast<int>(round) % 3);
    MPI_Comm part, copy;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, color, round % 2 ? -check::rank : check::rank, &part));
    MUST(MPI_Comm_dup(part, &copy));
    int rank = 0, size = 0;
    MUST(MPI_Comm_rank(copy, &rank));
    MUST(MPI_Comm_size(copy, &size));
    const int root = static_cast<int>(round) % size;
    if (rank == root) check::fill(data.data(), data.size(), round);
    MUST(MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_BYTE, root, copy));
    if (round % 64 == 0)
      CHECK(check::first_wrong(data.data(), data.size(), round) < 0, "round %ld", round);
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&part));
  }
  return check::finish();
}
