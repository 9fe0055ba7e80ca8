// Waits of random length with random wakers, in every call that waits: nobody sleeps through his
// message. Rank by rank, in turn, somebody is late by 0 to --delay us while the others wait for
// him. With --threads=N each rank has so many that do so at the same time, each on a communicator
// of its own. With --unmatched=1 a partitioned receive waits all the while for a send that comes at
// the end: nobody shall be woken for it.
#include "check.h"
#include "dice.h"

using namespace check;

namespace {

void be_late(int us) {
  const double until = MPI_Wtime() + us * 1e-6;
  while (MPI_Wtime() < until) {
  }
}

// How the others wait for one message of `late` each.
enum Way {
  receive,
  wait,
  waitall,
  waitany,
  waitsome,
  test,
  testany,
  probe,
  matched_probe,
  iprobe,
  synchronous,
  ways
};

void wait_for_it(Way way, int late, int tag, MPI_Comm comm) {
  int value = -1, flag = 0, index = -1;
  MPI_Status status;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  switch (way) {
    case receive:
    case synchronous:
      MUST(MPI_Recv(&value, 1, MPI_INT, late, tag, comm, &status));
      break;
    case wait:
      MUST(MPI_Irecv(&value, 1, MPI_INT, late, tag, comm, &requests[0]));
      MUST(MPI_Wait(&requests[0], &status));
      break;
    case waitall:
      MUST(MPI_Irecv(&value, 1, MPI_INT, late, tag, comm, &requests[1]));
      MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      break;
    case waitany:
      MUST(MPI_Irecv(&value, 1, MPI_INT, late, tag, comm, &requests[1]));
      MUST(MPI_Waitany(2, requests, &index, &status));
      CHECK(index == 1);
      break;
    case waitsome: {
      int count = 0, indices[2];
      MUST(MPI_Irecv(&value, 1, MPI_INT, late, tag, comm, &requests[1]));
      MUST(MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE));
      CHECK(count == 1 && indices[0] == 1);
      break;
    }
    case testany:
      MUST(MPI_Irecv(&value, 1, MPI_INT, late, tag, comm, &requests[1]));
      while (!flag) MUST(MPI_Testany(2, requests, &index, &flag, &status));
      CHECK(index == 1);
      break;
    case matched_probe: {
      MPI_Message message;
      MUST(MPI_Mprobe(late, tag, comm, &message, &status));
      MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
      break;
    }
    case test:
      MUST(MPI_Irecv(&value, 1, MPI_INT, late, tag, comm, &requests[0]));
      while (!flag) MUST(MPI_Test(&requests[0], &flag, &status));
      break;
    case probe:
      MUST(MPI_Probe(late, tag, comm, &status));
      CHECK(status.MPI_SOURCE == late && status.MPI_TAG == tag);
      MUST(MPI_Recv(&value, 1, MPI_INT, late, tag, comm, &status));
      break;
    case iprobe:
      while (!flag) MUST(MPI_Iprobe(late, tag, comm, &flag, &status));
      MUST(MPI_Recv(&value, 1, MPI_INT, late, tag, comm, &status));
      break;
    case ways:
      break;
  }
  CHECK(value == tag, "got %d instead of %d by way %d", value, tag, way);
}

void one_is_late(Dice& dice, int round, int delay, MPI_Comm comm) {
  const int late = dice.below(size);
  const int us = dice.below(3) == 0 ? 0 : dice.below(delay + 1);
  const auto way = static_cast<Way>(dice.below(ways));
  if (rank != late) {
    wait_for_it(way, late, round, comm);
    return;
  }
  be_late(us);
  for (int other = 0; other < size; ++other) {
    if (other != late && way == synchronous) {
      MUST(MPI_Ssend(&round, 1, MPI_INT, other, round, comm));
    } else if (other != late) {
      MUST(MPI_Send(&round, 1, MPI_INT, other, round, comm));
    }
  }
}

constexpr int large_bytes = 300'000;  // more than any library sends without asking

// A message that is moved by both sides, or by one of them while the other waits. In half of the
// rounds it is the receivers that are late, and the sender waits.
void one_large(Dice& dice, int round, int delay, MPI_Comm comm) {
  const int from = dice.below(size);
  const int us = dice.below(delay + 1);
  const bool sender_is_late = dice.below(2) == 0;
  std::vector<char> bytes(large_bytes, static_cast<char>(rank == from ? round : -1));
  if ((rank == from) == sender_is_late) be_late(us);
  if (rank == from) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(size), MPI_REQUEST_NULL);
    for (int other = 0; other < size; ++other) {
      if (other != from) {
        MUST(MPI_Isend(bytes.data(), large_bytes, MPI_CHAR, other, round, comm,
                       &requests[static_cast<std::size_t>(other)]));
      }
    }
    MUST(MPI_Waitall(size, requests.data(), MPI_STATUSES_IGNORE));
  } else {
    MUST(MPI_Recv(bytes.data(), large_bytes, MPI_CHAR, from, round, comm, MPI_STATUS_IGNORE));
    CHECK(bytes.front() == static_cast<char>(round) && bytes.back() == static_cast<char>(round));
  }
}

// More than may lie in a mailbox unread: the senders wait until the late one reads.
void flood(Dice& dice, int round, int delay, MPI_Comm comm) {
  constexpr int messages = 300;
  constexpr int words = 2000;
  const int late = dice.below(size);
  const int from = (late + 1 + dice.below(size - 1)) % size;
  const int us = dice.below(delay + 1);
  std::vector<int> data(words, round);
  if (rank == late) {
    be_late(us);
    for (int message = 0; message < messages; ++message) {
      MUST(MPI_Recv(data.data(), words, MPI_INT, from, round, comm, MPI_STATUS_IGNORE));
      CHECK(data.front() == message && data.back() == round);
    }
  } else if (rank == from) {
    for (int message = 0; message < messages; ++message) {
      data.front() = message;
      MUST(MPI_Send(data.data(), words, MPI_INT, late, round, comm));
    }
  }
}

void collective(Dice& dice, int round, int delay, MPI_Comm comm) {
  const int late = dice.below(size);
  const int us = dice.below(delay + 1);
  const int kind = dice.below(6);
  if (rank == late) {
    be_late(us);
  }
  int value = rank == late ? round : -1, sum = 0, flag = 0;
  MPI_Request request;
  switch (kind) {
    case 0:
      MUST(MPI_Barrier(comm));
      break;
    case 1:
      MUST(MPI_Bcast(&value, 1, MPI_INT, late, comm));
      CHECK(value == round);
      break;
    case 2:
      MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
      CHECK(sum == size * (size - 1) / 2);
      break;
    case 3: {
      std::vector<int> many(20'000, rank), sums(20'000);
      MUST(MPI_Allreduce(many.data(), sums.data(), 20'000, MPI_INT, MPI_SUM, comm));
      CHECK(sums.front() == size * (size - 1) / 2 && sums.back() == sums.front());
      break;
    }
    case 4:
      MUST(MPI_Ibcast(&value, 1, MPI_INT, late, comm, &request));
      while (!flag) MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      CHECK(value == round);
      break;
    default:
      MUST(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(sum == size * (size - 1) / 2);
  }
}

// One thread's part.
void play(long seed, int rounds, int delay, MPI_Comm comm) {
  Dice dice(static_cast<std::uint64_t>(seed));
  for (int round = 0; round < rounds && size > 1; ++round) {
    const int what = dice.below(80);
    if (what < 20) {
      collective(dice, round, delay, comm);
    } else if (what < 22) {
      one_large(dice, round, delay, comm);
    } else if (what == 22) {
      flood(dice, round, delay, comm);
    } else {
      one_is_late(dice, round, delay, comm);
    }
  }
  // The same wait again and again: what is expected can be learned.
  for (int round = 0; round < rounds / 5 && size > 1; ++round) {
    if (rank == 0) {
      be_late(delay);
      for (int other = 1; other < size; ++other) {
        MUST(MPI_Send(&round, 1, MPI_INT, other, round, comm));
      }
    } else {
      wait_for_it(receive, 0, round, comm);
    }
    MUST(MPI_Barrier(comm));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool several = false;
  for (int i = 1; i < argc; ++i) several = several || strncmp(argv[i], "--threads=", 10) == 0;
  start(argc, argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  const int rounds = static_cast<int>(option("rounds", 500));
  const int delay = static_cast<int>(option("delay", 200));
  const long seed = option("seed", 1);
  if (option("ask", 0) != 0) {  // it begins when whoever disturbs it is ready, and says so
    if (rank == 0 && getchar() == EOF) return 1;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
  }
  int partition = -1;
  MPI_Request unmatched[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (option("unmatched", 0) != 0) {
    MUST(MPI_Precv_init(&partition, 1, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &unmatched[0]));
    MUST(MPI_Start(&unmatched[0]));
  }
  std::vector<std::thread> threads;
  std::vector<MPI_Comm> comms;
  for (int thread = 1; thread < option("threads", 1); ++thread) {
    comms.push_back(MPI_COMM_NULL);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comms.back()));
    threads.emplace_back(play, seed + 1000 * thread, rounds, delay, comms.back());
  }
  play(seed, rounds, delay, MPI_COMM_WORLD);
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MUST(MPI_Comm_free(&comm));
  if (unmatched[0] != MPI_REQUEST_NULL) {
    MUST(MPI_Psend_init(&rank, 1, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &unmatched[1]));
    MUST(MPI_Start(&unmatched[1]));
    MUST(MPI_Pready(0, unmatched[1]));
    MUST(MPI_Waitall(2, unmatched, MPI_STATUSES_IGNORE));
    CHECK(partition == rank);
    for (MPI_Request& request : unmatched) MUST(MPI_Request_free(&request));
  }
  return finish();
}
