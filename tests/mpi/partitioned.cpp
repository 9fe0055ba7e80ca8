// Partitioned communication: sender and receiver that cut the message alike and differently (also
// in the middle of a receiver's element), partitions in any order, several rounds, receives made
// and started before and after their sends, order of matching, MPI_PROC_NULL, errors, and a sender
// that waits for its partitions while the receiver waits for another message.
#include <algorithm>
#include <numeric>

#include "check.h"

using namespace check;

namespace {

int to, from;

/// A message of `total` ints in `send_parts` and `receive_parts` partitions.
void cut(int total, int send_parts, int receive_parts, bool receive_first, bool vector_elements) {
  std::vector<int> out(total), in(total);
  MPI_Request send, receive;
  const int each = total / receive_parts;
  // What the receiver calls one element: an int, or its whole partition.
  MPI_Datatype element = MPI_INT;
  if (vector_elements) {
    MUST(MPI_Type_contiguous(each, MPI_INT, &element));
    MUST(MPI_Type_commit(&element));
  }
  const auto make_receive = [&] {
    MUST(MPI_Precv_init(in.data(), receive_parts, vector_elements ? 1 : each, element, from, 5,
                        MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  };
  if (receive_first) make_receive();
  MUST(MPI_Psend_init(out.data(), send_parts, total / send_parts, MPI_INT, to, 5, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &send));
  if (!receive_first) make_receive();
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < total; ++i) out[i] = rank * 1000 + round * 100000 + i;
    std::fill(in.begin(), in.end(), -1);
    MPI_Request both[2] = {send, receive};
    MUST(MPI_Startall(2, both));
    int flag = 1;
    MUST(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "nothing is ready yet");
    if (round == 0) {
      MUST(MPI_Pready_range(0, send_parts - 1, send));
    } else if (round == 1) {
      std::vector<int> order(send_parts);
      std::iota(order.rbegin(), order.rend(), 0);
      MUST(MPI_Pready_list(send_parts, order.data(), send));
    } else {
      for (int part = 0; part < send_parts; ++part)
        MUST(MPI_Pready((part * 7 + 3) % send_parts, send));
    }
    const auto arrived = [&](int part) {
      for (int i = part * each; i < (part + 1) * each; ++i)
        CHECK(in[i] == from * 1000 + round * 100000 + i, "%d: %d", i, in[i]);
    };
    if (round == 2) {
      for (int part = 0; part < receive_parts; ++part) {
        for (flag = 0; !flag;) MUST(MPI_Parrived(receive, part, &flag));
        arrived(part);
      }
    }
    MPI_Status status;
    MUST(MPI_Wait(&receive, &status));
    for (int part = 0; part < receive_parts; ++part) arrived(part);
    int count = 0;
    MUST(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == total && status.MPI_SOURCE == from && status.MPI_TAG == 5);
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK(send != MPI_REQUEST_NULL && receive != MPI_REQUEST_NULL);
    MUST(MPI_Parrived(receive, 0, &flag));
    CHECK(flag, "inactive: everything has arrived");
  }
  MUST(MPI_Request_free(&send));
  MUST(MPI_Request_free(&receive));
  if (vector_elements) MUST(MPI_Type_free(&element));
}

/// Two sends with the same tag meet two receives in the order in which they were made.
void order() {
  int out[2] = {rank + 10, rank + 20}, in[2] = {0, 0};
  MPI_Request requests[4];
  for (int i = 0; i < 2; ++i)
    MUST(
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, to, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]));
  for (int i = 0; i < 2; ++i)
    MUST(MPI_Precv_init(&in[i], 1, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[2 + i]));
  MUST(MPI_Startall(4, requests));
  MUST(MPI_Pready(0, requests[1]));
  MUST(MPI_Pready(0, requests[0]));
  MUST(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK(in[0] == from + 10 && in[1] == from + 20, "%d %d", in[0], in[1]);
  for (MPI_Request& request : requests) MUST(MPI_Request_free(&request));
}

/// Large partitions: the sender cannot finish before the receiver has met it, and the receiver does
/// so while it waits for something else.
void progress() {
  if (size < 2) return;
  constexpr int parts = 4, each = 100000;
  if (rank == 0) {
    std::vector<int> out(parts * each, 7);
    MPI_Request send;
    MUST(MPI_Send(nullptr, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD));
    MUST(MPI_Psend_init(out.data(), parts, each, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &send));
    MUST(MPI_Start(&send));
    MUST(MPI_Pready_range(0, parts - 1, send));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MUST(MPI_Send(nullptr, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD));
    MUST(MPI_Request_free(&send));
  } else if (rank == 1) {
    std::vector<int> in(parts * each);
    MPI_Request receive;
    MUST(MPI_Precv_init(in.data(), parts, each, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &receive));
    MUST(MPI_Start(&receive));
    MUST(MPI_Recv(nullptr, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Recv(nullptr, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK(std::count(in.begin(), in.end(), 7) == parts * each);
    MUST(MPI_Request_free(&receive));
  }
}

/// A receive that is freed before there is its send is still the first that was made: the second
/// send is not for it. One whose send never comes holds nobody up.
void freed_before_it_is_met() {
  int out[8], in[8] = {};
  for (int i = 0; i < 8; ++i) out[i] = 100 * rank + i;
  MPI_Request send, receive;
  MUST(MPI_Precv_init(in, 4, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  MUST(MPI_Request_free(&receive));
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Psend_init(out, 4, 1, MPI_INT, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  MUST(MPI_Request_free(&send));
  MUST(MPI_Psend_init(out, 8, 1, MPI_INT, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  MUST(MPI_Precv_init(in, 2, 4, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  MUST(MPI_Start(&send));
  MUST(MPI_Start(&receive));
  MUST(MPI_Pready_range(0, 7, send));
  MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  for (int i = 0; i < 8; ++i) CHECK(in[i] == 100 * from + i, "%d", in[i]);
  MUST(MPI_Request_free(&send));
  MUST(MPI_Request_free(&receive));
  MUST(MPI_Precv_init(in, 4, 1, MPI_INT, from, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  MUST(MPI_Request_free(&receive));
}

void nobody() {
  if (on_mpich()) return;  // crashes
  int value = 3;
  MPI_Request requests[2];
  MUST(MPI_Psend_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[0]));
  MUST(MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[1]));
  MUST(MPI_Startall(2, requests));
  MUST(MPI_Pready(0, requests[0]));
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (MPI_Request& request : requests) MUST(MPI_Request_free(&request));
  CHECK(value == 3);
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  to = (rank + 1) % size;
  from = (rank + size - 1) % size;
  cut(0, 3, 3, true, false);
  cut(24, 4, 4, true, false);
  cut(24, 4, 4, false, false);
  cut(24, 8, 2, true, false);
  cut(24, 2, 8, false, false);
  cut(24, 8, 3, false, true);
  cut(24, 1, 24, true, false);
  cut(120000, 6, 4, false, false);
  order();
  progress();
  freed_before_it_is_met();
  nobody();
  return finish();
}
