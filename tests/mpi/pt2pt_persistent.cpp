// Persistent requests of all modes, Start, Startall, restarting, Request_free of active and
// inactive ones; inactive requests in Wait and Test.
#include "check.h"

using namespace check;

int main(int argc, char** argv) {
  start(argc, argv);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<unsigned char> attached(2000000);
  MUST(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  for (int bytes : {0, 1, 64, 1000, 4096, 70000, 300000}) {
    std::vector<std::vector<unsigned char>> out(4, std::vector<unsigned char>(bytes + 1)), in = out;
    MPI_Request requests[8];
    // Receives first, so that Startall starts them before the ready send; the ready send's
    // partner is known to be ready by the token below.
    for (int m = 0; m < 4; ++m)
      MUST(MPI_Recv_init(in[m].data(), bytes, MPI_BYTE, from, m, MPI_COMM_WORLD, &requests[m]));
    MUST(MPI_Send_init(out[0].data(), bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[4]));
    MUST(MPI_Ssend_init(out[1].data(), bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[5]));
    MUST(MPI_Bsend_init(out[2].data(), bytes, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[6]));
    MUST(MPI_Rsend_init(out[3].data(), bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD, &requests[7]));
    // Inactive: finished with an empty status, and stays what it is.
    MPI_Request kept = requests[0];
    MPI_Status status;
    int flag = 0, index = 0;
    MUST(MPI_Wait(&requests[0], &status));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    CHECK(requests[0] == kept);
    MUST(MPI_Testany(8, requests, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    for (int round = 0; round < 5; ++round) {
      for (int m = 0; m < 4; ++m) {
        fill(out[m].data(), bytes, rank * 1000 + round * 10 + m);
        memset(in[m].data(), 0xEE, bytes);
      }
      MUST(MPI_Startall(4, requests));
      MPI_Request token;
      MUST(MPI_Irecv(nullptr, 0, MPI_BYTE, to, 99, MPI_COMM_WORLD, &token));
      MUST(MPI_Send(nullptr, 0, MPI_BYTE, from, 99, MPI_COMM_WORLD));
      MUST(MPI_Wait(&token, MPI_STATUS_IGNORE));
      if (round & 1)
        MUST(MPI_Startall(4, requests + 4));
      else
        for (int m = 3; m >= 0; --m) MUST(MPI_Start(&requests[4 + m]));
      if (round == 2) {
        for (int done = 0; done < 8; ++done) {
          MUST(MPI_Waitany(8, requests, &index, &status));
          CHECK(index >= 0 && index < 8);
          if (index >= 0 && index < 4) {
            int count = -1;
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK(status.MPI_SOURCE == from && status.MPI_TAG == index && count == bytes);
          }
        }
        MUST(MPI_Waitany(8, requests, &index, &status));
        CHECK(index == MPI_UNDEFINED);
      } else {
        MUST(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
      }
      for (int m = 0; m < 4; ++m) {
        long wrong = first_wrong(in[m].data(), bytes, from * 1000 + round * 10 + m);
        CHECK(wrong < 0, "round %d mode %d bytes %d: byte %ld wrong", round, m, bytes, wrong);
        CHECK(requests[m] != MPI_REQUEST_NULL);
      }
    }
    for (auto& request : requests) {
      MUST(MPI_Request_free(&request));
      CHECK(request == MPI_REQUEST_NULL);
    }
  }
  // Freed while active: the operations finish all the same, in order.
  constexpr int n = 50;
  static unsigned char out[n][5000], in[n][5000];
  MPI_Request receives[n];
  for (int i = 0; i < n; ++i)
    MUST(MPI_Irecv(in[i], 5000, MPI_BYTE, from, 7, MPI_COMM_WORLD, &receives[i]));
  for (int i = 0; i < n; ++i) {
    fill(out[i], 5000, rank * 100 + i);
    MPI_Request send;
    if (i & 1) {
      MUST(MPI_Isend(out[i], i * 100, MPI_BYTE, to, 7, MPI_COMM_WORLD, &send));
    } else {
      MUST(MPI_Send_init(out[i], i * 100, MPI_BYTE, to, 7, MPI_COMM_WORLD, &send));
      MUST(MPI_Start(&send));
    }
    MUST(MPI_Request_free(&send));
  }
  MUST(MPI_Waitall(n, receives, MPI_STATUSES_IGNORE));
  for (int i = 0; i < n; ++i) CHECK(first_wrong(in[i], i * 100, from * 100 + i) < 0, "freed %d", i);
  // The freed sends are finished for sure when the peer says that it has all.
  MUST(MPI_Sendrecv(nullptr, 0, MPI_BYTE, from, 8, nullptr, 0, MPI_BYTE, to, 8, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  void* detached;
  int detached_size;
  MUST(MPI_Buffer_detach(&detached, &detached_size));
  return finish();
}
