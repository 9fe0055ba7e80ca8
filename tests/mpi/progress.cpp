// Progress: fruitless Test and Iprobe loops end when the message comes; a large Isend arrives while
// its sender computes or sleeps outside MPI is not promised, but must finish when both are back;
// long one-sided waits; a slow receiver does not slow a third pair.
#include "check.h"

#include <ctime>

using namespace check;

static double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

// Rank 0 looks again and again, all others send late, one after the other.
static void loops() {
  if (rank) {
    sleep_ms(20 * rank);
    int value = rank;
    for (int tag = 1; tag <= 4; ++tag) {
      sleep_ms(5);
      MUST(MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD));
    }
    return;
  }
  for (int r = 1; r < size; ++r) {
    int value = -1, flag = 0, index;
    MPI_Request request;
    MUST(MPI_Irecv(&value, 1, MPI_INT, r, 1, MPI_COMM_WORLD, &request));
    while (!flag) MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(value == r);
    for (flag = 0; !flag;) MUST(MPI_Iprobe(r, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Recv(&value, 1, MPI_INT, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Irecv(&value, 1, MPI_INT, r, 3, MPI_COMM_WORLD, &request));
    for (flag = 0; !flag;) MUST(MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Irecv(&value, 1, MPI_INT, r, 4, MPI_COMM_WORLD, &request));
    for (flag = 0; !flag;) MUST(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
  }
}

// A large message while one side computes: whole and right, whoever is late.
static void large_while_computing() {
  const int peer = rank ^ 1, bytes = 4 << 20;
  if (peer >= size) return;
  std::vector<unsigned char> out(bytes), in(bytes);
  for (int round = 0; round < 4; ++round) {
    fill(out.data(), bytes, rank + round);
    MPI_Request requests[2];
    MUST(MPI_Irecv(in.data(), bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[0]));
    MUST(MPI_Isend(out.data(), bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[1]));
    if ((rank & 1) == (round & 1)) compute_ms(30);
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(first_wrong(in.data(), bytes, peer + round) < 0, "round %d", round);
  }
}

// A long wait of one side costs hardly any processor time, if the library parks.
static void long_wait() {
  const int peer = rank ^ 1;
  if (peer >= size) return;
  const double before = cpu_seconds();
  if (rank & 1) {
    sleep_ms(400);
    MUST(MPI_Send(nullptr, 0, MPI_INT, peer, 6, MPI_COMM_WORLD));
  } else {
    MUST(MPI_Recv(nullptr, 0, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  const double used = cpu_seconds() - before;
  const char* wait = getenv("MEANTIME_WAIT");
  if (!on_mpich() && (!wait || !strcmp(wait, "event") || !strcmp(wait, "adaptive")))
    CHECK(used < 0.1, "0.4 s of waiting took %.3f s of processor", used);
}

// Rank 0 is sent more than any buffer holds and does not receive; ranks 2 and 3 must not notice.
static void slow_receiver() {
  if (size < 4) return;
  constexpr int flood = 3000, bytes = 16000, talks = 500;
  if (rank == 1) {
    std::vector<unsigned char> out(bytes, 1);
    std::vector<MPI_Request> requests(flood);
    for (auto& request : requests)
      MUST(MPI_Isend(out.data(), bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request));
    MUST(MPI_Waitall(flood, requests.data(), MPI_STATUSES_IGNORE));
  } else if (rank == 0) {
    // Comes when the others are through with their talk: with a dependency it would hang.
    for (int r = 2; r < 4; ++r)
      MUST(MPI_Recv(nullptr, 0, MPI_INT, r, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    std::vector<unsigned char> in(bytes);
    for (int i = 0; i < flood; ++i)
      MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(first_other_than(in.data(), bytes, 1) < 0);
  } else if (rank < 4) {
    sleep_ms(30);
    std::vector<unsigned char> buffer(50000);
    const int peer = rank ^ 1;
    for (int i = 0; i < talks; ++i) {
      const int n = i % 3 ? 100 : 50000;
      if (rank == 2) {
        MUST(MPI_Send(buffer.data(), n, MPI_BYTE, peer, 9, MPI_COMM_WORLD));
        MUST(MPI_Recv(buffer.data(), n, MPI_BYTE, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      } else {
        MUST(MPI_Recv(buffer.data(), n, MPI_BYTE, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(MPI_Send(buffer.data(), n, MPI_BYTE, peer, 9, MPI_COMM_WORLD));
      }
    }
    MUST(MPI_Send(nullptr, 0, MPI_INT, 0, 8, MPI_COMM_WORLD));
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  loops();
  large_while_computing();
  long_wait();
  slow_receiver();
  return finish();
}
