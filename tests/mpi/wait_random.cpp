// Waits of random length with random wakers, in every call that waits: nobody sleeps through his
// message. Rank by rank, in turn, somebody is late by 0 to --delay us while the others wait for
// him.
#include "check.h"

using namespace check;

namespace {

// The same numbers on every rank, so all know who is late, by how much, and how it is waited for.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  int below(int limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(limit));
  }

 private:
  std::uint64_t state_;
};

void be_late(int us) {
  const double until = MPI_Wtime() + us * 1e-6;
  while (MPI_Wtime() < until) {
  }
}

// How the others wait for one message of `late` each.
enum Way { receive, wait, waitall, waitany, test, probe, iprobe, synchronous, ways };

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

void collective(Dice& dice, int round, int delay, MPI_Comm comm) {
  const int late = dice.below(size);
  const int us = dice.below(delay + 1);
  const int kind = dice.below(4);
  if (rank == late) {
    be_late(us);
  }
  int value = rank == late ? round : -1, sum = 0;
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
    default:
      MUST(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(sum == size * (size - 1) / 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  const int rounds = static_cast<int>(option("rounds", 1500));
  const int delay = static_cast<int>(option("delay", 400));
  Dice dice(static_cast<std::uint64_t>(option("seed", 1)));
  if (option("ask", 0) != 0) {  // it begins when whoever disturbs it is ready, and says so
    if (rank == 0 && getchar() == EOF) return 1;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
  }
  for (int round = 0; round < rounds && size > 1; ++round) {
    if (dice.below(4) == 0) {
      collective(dice, round, delay, MPI_COMM_WORLD);
    } else {
      one_is_late(dice, round, delay, MPI_COMM_WORLD);
    }
  }
  // The same wait again and again: what is expected can be learned.
  for (int round = 0; round < rounds / 5 && size > 1; ++round) {
    if (rank == 0) {
      be_late(delay);
      for (int other = 1; other < size; ++other) {
        MUST(MPI_Send(&round, 1, MPI_INT, other, round, MPI_COMM_WORLD));
      }
    } else {
      wait_for_it(receive, 0, round, MPI_COMM_WORLD);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
  }
  return finish();
}
