// Cancel of receives: cancelled or received, never both, never neither; the buffer of a
// cancelled one stays untouched and its message goes to the next receive.
#include "check.h"

using namespace check;

static bool cancelled(MPI_Request* request, MPI_Status* status) {
  int flag = -1;
  MUST(MPI_Wait(request, status));
  MUST(MPI_Test_cancelled(status, &flag));
  CHECK(*request == MPI_REQUEST_NULL);
  return flag == 1;
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<unsigned char> in(100000, 0xEE), out(100000);
  MPI_Status status;

  // Nobody sends: surely cancelled.
  for (int source : {0, int(MPI_ANY_SOURCE)})
    for (int tag : {5, int(MPI_ANY_TAG)}) {
      MPI_Request request;
      MUST(MPI_Irecv(in.data(), 100000, MPI_BYTE, source, tag, MPI_COMM_SELF, &request));
      MUST(MPI_Cancel(&request));
      CHECK(cancelled(&request, &status), "a receive that nobody sends to is not cancelled");
      CHECK(first_other_than(in.data(), in.size(), 0xEE) < 0);
    }

  // Two posted, the first cancelled: the message goes to the second.
  for (int bytes : {0, 10, 1000, 5000, 70000, 100000}) {
    std::vector<unsigned char> second(100000, 0xDD);
    MPI_Request first_request, second_request, send;
    MUST(MPI_Irecv(in.data(), 100000, MPI_BYTE, from, 6, MPI_COMM_WORLD, &first_request));
    MUST(MPI_Irecv(second.data(), 100000, MPI_BYTE, from, 6, MPI_COMM_WORLD, &second_request));
    MUST(MPI_Cancel(&first_request));
    CHECK(cancelled(&first_request, &status));
    MUST(MPI_Sendrecv(nullptr, 0, MPI_BYTE, from, 1, nullptr, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    fill(out.data(), bytes, rank);
    MUST(MPI_Isend(out.data(), bytes, MPI_BYTE, to, 6, MPI_COMM_WORLD, &send));
    CHECK(!cancelled(&second_request, &status));
    CHECK(first_wrong(second.data(), bytes, from) < 0);
    CHECK(first_other_than(in.data(), in.size(), 0xEE) < 0, "cancelled, but written to");
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }

  // A finished receive is not cancelled.
  {
    MPI_Request request;
    MUST(MPI_Irecv(in.data(), 100000, MPI_BYTE, from, 2, MPI_COMM_WORLD, &request));
    fill(out.data(), 500, rank + 50);
    MUST(MPI_Send(out.data(), 500, MPI_BYTE, to, 2, MPI_COMM_WORLD));
    int flag = 0;
    while (!flag) MUST(MPI_Request_get_status(request, &flag, &status));
    MUST(MPI_Cancel(&request));
    CHECK(!cancelled(&request, &status), "finished, then cancelled");
    CHECK(first_wrong(in.data(), 500, from + 50) < 0);
  }

  // The race: messages arrive while receives are cancelled. Each message is received once, in
  // order, by a receive that was not cancelled.
  const int rounds = option("rounds", 400);
  std::vector<MPI_Request> sends(rounds);
  std::vector<std::vector<unsigned char>> payload(rounds);
  Random random(rank + 1);
  for (int r = 0; r < rounds; ++r) {
    payload[r].resize(4 + (r % 5 == 0 ? 70000 : r % 300));
    fill(payload[r].data(), payload[r].size(), rank * 10000 + r);
    MUST(MPI_Isend(payload[r].data(), static_cast<int>(payload[r].size()), MPI_BYTE, to, 3,
                   MPI_COMM_WORLD, &sends[r]));
    if (r % 16 == 15) break;  // the rest is sent while receives come and go
  }
  int sent = rounds < 16 ? rounds : 16;
  int lost = 0;
  for (int received = 0; received < rounds;) {
    MPI_Request request;
    memset(in.data(), 0xEE, in.size());
    MUST(MPI_Irecv(in.data(), 100000, MPI_BYTE, random.chance(50) ? from : int(MPI_ANY_SOURCE), 3,
                   MPI_COMM_WORLD, &request));
    if (random.chance(50)) std::this_thread::yield();
    const bool tried = random.chance(60);
    if (tried) MUST(MPI_Cancel(&request));
    if (sent < rounds) {
      const int r = sent++;
      payload[r].resize(4 + (r % 5 == 0 ? 70000 : r % 300));
      fill(payload[r].data(), payload[r].size(), rank * 10000 + r);
      MUST(MPI_Isend(payload[r].data(), static_cast<int>(payload[r].size()), MPI_BYTE, to, 3,
                     MPI_COMM_WORLD, &sends[r]));
    }
    if (cancelled(&request, &status)) {
      ++lost;
      CHECK(tried);
      CHECK(first_other_than(in.data(), 64, 0xEE) < 0, "cancelled, but written to");
      continue;
    }
    int count = -1, expected = 4 + (received % 5 == 0 ? 70000 : received % 300);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == expected, "message %d has %d bytes, not %d", received, count, expected);
    if (count == expected)
      CHECK(first_wrong(in.data(), count, from * 10000 + received) < 0, "message %d", received);
    ++received;
  }
  MUST(MPI_Waitall(rounds, sends.data(), MPI_STATUSES_IGNORE));
  if (option("verbose", 0)) fprintf(stderr, "rank %d: %d cancelled\n", rank, lost);
  return finish();
}
