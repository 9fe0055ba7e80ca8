// Mistakes that AddressSanitizer must see, in thread ranks, too: the last rank has too little
// memory, and writes beyond it, or MPI does.
#include "../mpi/check.h"

using namespace check;

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  start(argc, argv);
  const int last = size - 1;
  std::vector<char> memory(rank == last ? 60 : 100);
  if (way == "array" && rank == last) memory.data()[60 + option("beyond", 0)] = 1;
  if (way == "message" && rank == 0)
    MPI_Send(memory.data(), 100, MPI_BYTE, last, 0, MPI_COMM_WORLD);
  if (way == "message" && rank == last)
    MPI_Recv(memory.data(), 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return finish();
}
