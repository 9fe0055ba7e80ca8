// A receiver from any source and senders that flood it: of those that have messages waiting, none
// is served far more often than another (ours; MPI leaves it open), each sender's order holds, and
// a probe shows what the receive like it then gets.
#include "check.h"

#include <algorithm>

using namespace check;

enum { data_tag = 1, ready_tag = 2, go_tag = 3 };

// One sender has a head start of `ahead` messages; then all send `each`, and when all of them are
// there the receiver begins.
static void backlog(int ahead, int each, bool any_tag, int apart) {
  const int first = 1 % size;
  if (rank > 0) {
    const int messages = rank == first ? ahead + each : each;
    std::vector<int> values(messages);
    std::vector<MPI_Request> requests(messages);
    if (rank != first)
      MUST(MPI_Recv(nullptr, 0, MPI_INT, 0, go_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < messages; ++i) {
      values[i] = i;
      MUST(MPI_Isend(&values[i], 1, MPI_INT, 0, data_tag, MPI_COMM_WORLD, &requests[i]));
    }
    MUST(MPI_Send(nullptr, 0, MPI_INT, 0, ready_tag, MPI_COMM_WORLD));
    MUST(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE));
    return;
  }
  // Behind a sender's messages comes this one, so they are there.
  MUST(MPI_Recv(nullptr, 0, MPI_INT, first, ready_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int sender = 2; sender < size; ++sender)
    MUST(MPI_Send(nullptr, 0, MPI_INT, sender, go_tag, MPI_COMM_WORLD));
  for (int sender = 2; sender < size; ++sender)
    MUST(MPI_Recv(nullptr, 0, MPI_INT, sender, ready_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  std::vector<int> received(size, 0);
  int furthest_apart = 0;
  const int all = ahead + each * (size - 1);
  for (int i = 0; i < all; ++i) {
    MPI_Status status;
    int value = -1;
    MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, any_tag ? int(MPI_ANY_TAG) : data_tag,
                  MPI_COMM_WORLD, &status));
    CHECK(value == received[status.MPI_SOURCE], "message %d of %d came as number %d", value,
          status.MPI_SOURCE, received[status.MPI_SOURCE]);
    ++received[status.MPI_SOURCE];
    int most = 0, least = each;
    for (int sender = 1; sender < size; ++sender) {
      most = std::max(most, received[sender]);
      least = std::min(least, received[sender]);
    }
    if (least < each) furthest_apart = std::max(furthest_apart, most - least);
  }
  if (!on_mpich())
    CHECK(furthest_apart <= apart, "one sender was served %d times more than another that waited",
          furthest_apart);
}

// All send as fast as they can; what a probe shows is what comes.
static void flood(int each) {
  if (rank > 0) {
    for (int i = 0; i < each; ++i) MUST(MPI_Send(&i, 1, MPI_INT, 0, data_tag, MPI_COMM_WORLD));
    return;
  }
  std::vector<int> received(size, 0);
  for (int i = 0; i < each * (size - 1); ++i) {
    MPI_Status shown, status;
    int value = -1;
    const bool probes = i % 3 == 0;
    if (probes) MUST(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &shown));
    MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    if (probes)
      CHECK(shown.MPI_SOURCE == status.MPI_SOURCE, "%d probed, %d received", shown.MPI_SOURCE,
            status.MPI_SOURCE);
    CHECK(value == received[status.MPI_SOURCE]++, "message %d of %d out of order", value,
          status.MPI_SOURCE);
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int each = static_cast<int>(option("messages", 500));
  // Nobody sends for the next one while the receiver is still at this. The bounds: queues.cpp; of a
  // few messages it takes what came first, and a turn that has begun is not counted anew.
  const int few = 64, short_turn = 32, long_turn = 2048, many = 20000;
  backlog(0, each, false, each);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  backlog(many, each, true, long_turn + few);  // more than go out without a wait
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  backlog(many, 20, false, short_turn + few);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  flood(each);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
