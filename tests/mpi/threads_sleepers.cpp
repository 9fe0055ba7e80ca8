// MPI_THREAD_MULTIPLE, several threads of one rank asleep in different calls at once: whichever of
// them is woken, the one that the message is for goes on. A probe sleeps under a receive; a receive
// that another thread cancels; a collective in the background under sleepers of every kind, or left
// to one by who started it; a partitioned receive that one of them has to find the send of.
#include <algorithm>

#include "check.h"

using namespace check;

/// Time for a thread to fall asleep in MPI; without it the test still passes, but tests less.
static void let_them_sleep() {
  sleep_ms(20);
}

static void probe_under_receive(int peer) {
  for (int turn = 0; turn < 5; ++turn) {
    if (rank % 2 == 0) {
      std::thread prober([&] {
        MPI_Status status;
        MPI_Message message;
        int value = 0;
        MUST(MPI_Mprobe(peer, 1, MPI_COMM_WORLD, &message, &status));
        MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
        CHECK(value == 100 + turn, "probed %d", value);
      });
      let_them_sleep();
      std::thread receiver([&] {  // asleep later, so signalled first
        int value = 0;
        MUST(MPI_Recv(&value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == 200 + turn, "received %d", value);
      });
      let_them_sleep();
      int go = turn;
      MUST(MPI_Send(&go, 1, MPI_INT, peer, 3, MPI_COMM_WORLD));
      prober.join();
      MUST(MPI_Send(&go, 1, MPI_INT, peer, 3, MPI_COMM_WORLD));
      receiver.join();
    } else {
      int go = -1;
      MUST(MPI_Recv(&go, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      int value = 100 + turn;
      MUST(MPI_Send(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
      MUST(MPI_Recv(&go, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      value = 200 + turn;
      MUST(MPI_Send(&value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD));
    }
  }
}

static void cancelled_by_another_thread() {
  for (int turn = 0; turn < 5; ++turn) {
    int value = 0;
    MPI_Request request;
    MUST(MPI_Irecv(&value, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &request));
    MPI_Request same = request;
    std::thread waiter([&] {
      MPI_Status status;
      int cancelled = 0;
      MUST(MPI_Wait(&request, &status));
      MUST(MPI_Test_cancelled(&status, &cancelled));
      CHECK(cancelled);
    });
    let_them_sleep();
    MUST(MPI_Cancel(&same));
    waiter.join();
  }
}

static void collective_in_the_background(MPI_Comm comm, int peer) {
  for (int turn = 0; turn < 10; ++turn) {
    int mine = rank + turn, sum = -1;
    MPI_Request request;
    if (turn % size == rank) let_them_sleep();  // somebody is late
    MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    std::thread collective([&] {
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(sum == size * (size - 1) / 2 + size * turn, "sum %d", sum);
    });
    std::thread message([&] {
      int out = rank * 10 + turn, in = -1;
      if (rank % 2 == 0) let_them_sleep();
      MUST(MPI_Sendrecv(&out, 1, MPI_INT, peer, 5, &in, 1, MPI_INT, peer, 5, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
      CHECK(in == peer * 10 + turn);
    });
    std::thread prober([&] {
      MPI_Status status;
      int out = turn, in = -1;
      MUST(MPI_Send(&out, 1, MPI_INT, peer, 6, MPI_COMM_WORLD));
      MUST(MPI_Probe(peer, 6, MPI_COMM_WORLD, &status));
      MUST(MPI_Recv(&in, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(in == turn);
    });
    collective.join();
    message.join();
    prober.join();
  }
}

/// Who starts it leaves MPI until it is over: the thread that sleeps in a call moves it on.
static void left_to_a_sleeper(MPI_Comm comm, int peer) {
  for (int turn = 0; turn < 10; ++turn) {
    int mine = rank + turn, sum = -1;
    MPI_Request request;
    if (rank % 2 == 0) {
      std::thread sleeper([&] {
        int in = -1;
        MUST(MPI_Recv(&in, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(in == turn);
      });
      let_them_sleep();
      MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
      sleeper.join();
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      MUST(MPI_Send(&turn, 1, MPI_INT, peer, 7, MPI_COMM_WORLD));
    }
    CHECK(sum == size * (size - 1) / 2 + size * turn, "sum %d", sum);
  }
}

/// The same of a partitioned receive that has not met its send: the sleeper, who fell asleep before
/// it was started, posts what the sender waits for.
static void partitions_left_to_a_sleeper(int peer) {
  constexpr int many = 300'000;  // more than any library sends without asking
  std::vector<char> bytes(many);
  for (int turn = 0; turn < 5; ++turn) {
    MPI_Request request;
    if (rank % 2 == 0) {
      std::thread sleeper([&] {
        int in = -1;
        MUST(MPI_Recv(&in, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(in == turn);
      });
      let_them_sleep();
      MUST(MPI_Precv_init(bytes.data(), 1, many, MPI_CHAR, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &request));
      MUST(MPI_Start(&request));
      sleeper.join();
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(bytes.front() == turn && bytes.back() == turn);
    } else {
      std::fill(bytes.begin(), bytes.end(), static_cast<char>(turn));
      let_them_sleep();
      let_them_sleep();
      MUST(MPI_Psend_init(bytes.data(), 1, many, MPI_CHAR, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &request));
      MUST(MPI_Start(&request));
      MUST(MPI_Pready(0, request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      MUST(MPI_Send(&turn, 1, MPI_INT, peer, 8, MPI_COMM_WORLD));
    }
    MUST(MPI_Request_free(&request));
  }
}

int main(int argc, char** argv) {
  if (start(argc, argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
    CHECK(false, "MPI_THREAD_MULTIPLE is not provided");
    return finish();
  }
  MPI_Comm comm;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  cancelled_by_another_thread();
  const int peer = rank ^ 1;
  if (size % 2 == 0) {
    probe_under_receive(peer);
    collective_in_the_background(comm, peer);
    left_to_a_sleeper(comm, peer);
    partitions_left_to_a_sleeper(peer);
  }
  MUST(MPI_Comm_free(&comm));
  return finish();
}
