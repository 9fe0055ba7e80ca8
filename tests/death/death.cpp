// A rank dies in the middle of traffic, one way per argument: the job ends within a second or so,
// says which rank and why, and leaves nothing behind. The rank named by --rank dies.
#include "../mpi/check.h"

#include <unistd.h>
#include <csignal>
#include <stdexcept>

using namespace check;

// Traffic of all kinds until the job ends: small, large, unexpected, wildcards, collectives.
static void traffic(int rounds, bool collectives) {
  std::vector<unsigned char> out(200000), in(200000);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  Random random(7);
  for (int r = 0; r < rounds; ++r) {
    const int bytes = r % 5 ? random.below(2000) : random.below(200000);
    MPI_Request request;
    MPI_Isend(out.data(), bytes, MPI_BYTE, to, r & 3, MPI_COMM_WORLD, &request);
    MPI_Recv(in.data(), 200000, MPI_BYTE, r & 1 ? from : int(MPI_ANY_SOURCE), r & 3, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (collectives) {
      int mine = rank, sum;
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "world_after_a_session") {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_finalize(&session);
  }
  start(argc, argv);
  const int victim = static_cast<int>(option("rank", size - 1));
  traffic(50, way == "abort_in_collective");
  if (way == "after_finalize") {
    MPI_Finalize();
    return rank == victim ? 5 : 0;
  }
  if (way == "in_a_session") {  // after MPI_Finalize
    MPI_Finalize();
    MPI_Session session;
    if (rank == victim) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return 0;
  }
  if (way == "world_in_a_session") {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Finalize();
    if (rank == victim) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Session_finalize(&session);
    return 0;
  }
  if (rank == victim) {
    // Leave messages of all kinds half-way: posted, unexpected, a rendezvous, a slice of memory.
    static unsigned char large[4 << 20];
    MPI_Request requests[3];
    MPI_Irecv(large, 100, MPI_BYTE, MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(large, 200000, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(large, 100, MPI_BYTE, (rank + 1) % size, 51, MPI_COMM_WORLD, &requests[2]);
    if (way == "segv") {
      volatile int* nowhere = nullptr;
      raise(SIGSEGV);
      *nowhere = 1;
    }
    if (way == "kill") raise(SIGKILL);
    if (way == "term") raise(SIGTERM);
    if (way == "abort") abort();
    if (way == "throw") throw std::runtime_error("thrown by the test");
    if (way == "exit") exit(3);
    if (way == "exit0" || way == "world_after_a_session") exit(0);
    if (way == "_exit") _exit(4);
    if (way == "return") return 6;
    if (way == "mpi_abort" || way == "abort_in_collective") MPI_Abort(MPI_COMM_WORLD, 42);
    if (way == "mpi_abort_self") MPI_Abort(MPI_COMM_SELF, 43);
    if (way == "error") MPI_Send(large, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    if (way == "thread") std::thread([] { raise(SIGKILL); }).join();
  }
  if (way == "abort_in_collective")
    for (;;) MPI_Barrier(MPI_COMM_WORLD);
  if (way == "computing")  // nobody dies: mpiexec is killed by the runner
    for (;;) rank & 1 ? compute_ms(100) : traffic(1, false);
  traffic(1 << 30, false);
  return 0;
}
