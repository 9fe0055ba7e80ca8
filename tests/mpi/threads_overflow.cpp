// MPI_THREAD_MULTIPLE, short messages that nobody receives for a while (pt2pt_overflow): a thread
// that sends them and one that waits for an answer sleep at once, and whichever looks gives the
// sends their room. The answer comes when all are sent, and only then is anything received.
#include <algorithm>

#include "check.h"

using namespace check;

static void sender(int peer, int many) {
  std::thread asks([&] {
    int answer = 0;
    MUST(MPI_Recv(&answer, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(answer == many, "the answer is %d", answer);
  });
  std::thread others[2];
  for (int which = 0; which < 2; ++which) {
    others[which] = std::thread([&, which] {
      for (int message = 0; message < many; ++message) {
        int out[100];
        std::fill(out, out + 100, message);
        MUST(MPI_Send(out, 100, MPI_INT, peer, which, MPI_COMM_WORLD));
      }
    });
  }
  for (std::thread& other : others) other.join();
  MUST(MPI_Send(&many, 1, MPI_INT, peer, 3, MPI_COMM_WORLD));
  asks.join();
}

static void receiver(int peer, int many) {
  int all = 0;
  MUST(MPI_Recv(&all, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MUST(MPI_Send(&all, 1, MPI_INT, peer, 2, MPI_COMM_WORLD));
  for (int message = 0; message < many; ++message) {
    for (int which = 2; which-- > 0;) {
      int in[100] = {};
      MUST(MPI_Recv(in, 100, MPI_INT, peer, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(in[0] == message && in[99] == message, "message %d is %d", message, in[0]);
    }
  }
}

int main(int argc, char** argv) {
  if (start(argc, argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
    CHECK(false, "MPI_THREAD_MULTIPLE is not provided");
    return finish();
  }
  const int many = static_cast<int>(option("messages", 5000));
  const int peer = rank ^ 1;
  for (int round = 0; round < 3 && peer < size; ++round) {
    if (rank % 2 == round % 2) {
      sender(peer, many);
    } else {
      receiver(peer, many);
    }
  }
  return finish();
}
