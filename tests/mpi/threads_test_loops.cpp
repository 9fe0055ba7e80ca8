// MPI_THREAD_MULTIPLE, threads of a rank that look again and again for what others of it wait for,
// or take over: whoever waits is woken by what it waits for, though somebody who only looked was to
// hear of it before. Requests go from hand to hand under a lock of the program's own; one is looked
// at by many while one waits for it; one is freed or cancelled while another thread still looks for
// others; probes beside them, and a collective in the background.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "check.h"

using namespace check;

/// Rank 0 looks for two messages in turn; another thread takes one of the requests over and waits
/// for it.
static void taken_over(int peer) {
  for (int turn = 0; turn < 20; ++turn) {
    if (rank % 2 == 1) {
      int value = turn;
      sleep_ms(3 + turn % 5);
      MUST(MPI_Send(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
      sleep_ms(turn % 3);
      MUST(MPI_Send(&value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD));
      continue;
    }
    int values[2] = {-1, -1};
    MPI_Request requests[2];
    std::mutex mutex;
    bool taken = false;
    MUST(MPI_Irecv(&values[0], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[0]));
    MUST(MPI_Irecv(&values[1], 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[1]));
    std::thread taker([&] {
      sleep_ms(turn % 4);  // the other one naps by then
      MPI_Request mine;
      {
        const std::lock_guard lock(mutex);
        taken = true;
        mine = requests[0];
      }
      MUST(MPI_Wait(&mine, MPI_STATUS_IGNORE));
    });
    for (int flag = 0; !flag;) {
      {
        const std::lock_guard lock(mutex);
        int early = 0;
        if (!taken) MUST(MPI_Request_get_status(requests[0], &early, MPI_STATUS_IGNORE));
      }
      MUST(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
    }
    taker.join();
    CHECK(values[0] == turn && values[1] == turn);
  }
}

/// A persistent request that one thread waits for and three others look at.
static void looked_at_by_others(int peer) {
  if (rank % 2 == 1) {
    for (int turn = 0; turn < 20; ++turn) {
      sleep_ms(3);
      MUST(MPI_Send(&turn, 1, MPI_INT, peer, 3, MPI_COMM_WORLD));
      MUST(MPI_Recv(nullptr, 0, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    return;
  }
  int value = -1;
  MPI_Request request;
  MUST(MPI_Recv_init(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &request));
  std::atomic<bool> over{false};
  // Nobody looks at a request that is being started: MPICH loses its message then.
  std::shared_mutex starts;
  std::atomic<bool> starting{false};  // (who only shares the lock would go on for ever)
  std::vector<std::thread> testers;
  for (int i = 0; i < 3; ++i) {
    testers.emplace_back([&] {
      int flag = 0;
      while (!over.load()) {
        if (starting.load()) {
          std::this_thread::yield();
          continue;
        }
        const std::shared_lock lock(starts);
        MUST(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
      }
    });
  }
  for (int turn = 0; turn < 20; ++turn) {
    {
      starting = true;
      const std::unique_lock lock(starts);
      MUST(MPI_Start(&request));
      starting = false;
    }
    MPI_Request same = request;
    MUST(MPI_Wait(&same, MPI_STATUS_IGNORE));
    CHECK(value == turn, "%d", value);
    MUST(MPI_Send(nullptr, 0, MPI_INT, peer, 4, MPI_COMM_WORLD));
  }
  over = true;
  for (std::thread& tester : testers) tester.join();
  MUST(MPI_Request_free(&request));
}

/// Each thread has a request of its own and looks for it, probes, and takes part in a collective
/// that nobody waits for meanwhile.
static void all_kinds_at_once(MPI_Comm comm, int peer) {
  constexpr int threads = 4, turns = 15;
  for (int turn = 0; turn < turns; ++turn) {
    int mine = rank + turn, sum = -1;
    MPI_Request collective;
    if (turn % size == rank) sleep_ms(5);
    MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &collective));
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
      all.emplace_back([&, thread] {
        const int tag = 10 + thread;
        int out = rank * 100 + thread, in = -1, flag = 0;
        MPI_Request request;
        MPI_Status status;
        if (thread == 0) {
          while (!flag) MUST(MPI_Test(&collective, &flag, MPI_STATUS_IGNORE));
          CHECK(sum == size * (size - 1) / 2 + size * turn, "sum %d", sum);
          flag = 0;
        }
        if ((rank + thread + turn) % 3 == 0) sleep_ms(4);
        MUST(MPI_Send(&out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD));
        if (thread == 1) {
          while (!flag) MUST(MPI_Iprobe(peer, tag, MPI_COMM_WORLD, &flag, &status));
          MUST(MPI_Recv(&in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &status));
        } else if (thread == 2) {
          MUST(MPI_Recv(&in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &status));
        } else {
          int never = 0;
          MPI_Request other;
          MUST(MPI_Irecv(&in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &request));
          MUST(MPI_Irecv(&never, 1, MPI_INT, rank, 50 + thread, MPI_COMM_WORLD, &other));
          for (int there = 0; !flag;) {
            MUST(MPI_Test(&other, &there, MPI_STATUS_IGNORE));
            MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
          }
          MUST(MPI_Cancel(&other));
          MUST(MPI_Wait(&other, MPI_STATUS_IGNORE));
        }
        CHECK(in == peer * 100 + thread, "thread %d: %d", thread, in);
      });
    }
    for (std::thread& one : all) one.join();
  }
}

/// What a thread looks for is freed by another one, which then looks for nothing.
static void freed_by_another(int peer) {
  // What is received for a freed request may come at any time until MPI_Finalize.
  static int of_turns[10][2];
  for (int turn = 0; turn < 10; ++turn) {
    if (rank % 2 == 1) {
      sleep_ms(4);
      MUST(MPI_Send(&turn, 1, MPI_INT, peer, 5, MPI_COMM_WORLD));
      MUST(MPI_Send(&turn, 1, MPI_INT, peer, 6, MPI_COMM_WORLD));
      continue;
    }
    int(&values)[2] = of_turns[turn];
    values[0] = values[1] = -1;
    MPI_Request requests[2];
    std::mutex mutex;
    bool freed = false;
    MUST(MPI_Irecv(&values[0], 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[0]));
    MUST(MPI_Irecv(&values[1], 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &requests[1]));
    std::thread other([&] {
      sleep_ms(turn % 4);
      const std::lock_guard lock(mutex);
      MUST(MPI_Request_free(&requests[0]));
      freed = true;
    });
    for (int flag = 0; !flag;) {
      {
        const std::lock_guard lock(mutex);
        int early = 0;
        if (!freed) MUST(MPI_Request_get_status(requests[0], &early, MPI_STATUS_IGNORE));
      }
      MUST(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
    }
    other.join();
    CHECK(values[1] == turn);
  }
}

int main(int argc, char** argv) {
  if (start(argc, argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
    CHECK(false, "MPI_THREAD_MULTIPLE is not provided");
    return finish();
  }
  MPI_Comm comm;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const int peer = rank ^ 1;
  if (size % 2 == 0) {
    taken_over(peer);
    looked_at_by_others(peer);
    freed_by_another(peer);
    all_kinds_at_once(comm, peer);
  }
  MUST(MPI_Comm_free(&comm));
  return finish();
}
