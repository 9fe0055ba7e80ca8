// MPI_THREAD_MULTIPLE and collectives: a communicator each, blocking and not, while the main thread
// exchanges messages; communicators made and freed by threads at the same time.
#include "collective.h"

using namespace check;

int main(int argc, char** argv) {
  if (start(argc, argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
    CHECK(false, "MPI_THREAD_MULTIPLE is not provided");
    return finish();
  }
  const int threads = static_cast<int>(option("threads", 3));
  const int rounds = static_cast<int>(option("rounds", size > 4 ? 30 : 100));
  std::vector<MPI_Comm> comms(threads);
  for (auto& comm : comms) MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      Random random(t * 100 + rank);
      for (int r = 0; r < rounds; ++r) {
        const int count = r % 7 == 0 ? 5000 : r % 11;
        std::vector<int> mine = pattern(count, rank), all_of(count * size), sum(count);
        MPI_Request request;
        MUST(MPI_Iallgather(mine.data(), count, MPI_INT, all_of.data(), count, MPI_INT, comms[t],
                            &request));
        std::vector<int> small(count, t + rank);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int k = 0; k < size; ++k) CHECK(differs(all_of.data() + k * count, count, k) < 0);
        MUST(MPI_Allreduce(small.data(), sum.data(), count, MPI_INT, MPI_SUM, comms[t]));
        for (int x : sum) CHECK(x == size * t + size * (size - 1) / 2);
        if (random.chance(5)) sleep_ms(1);
        int root_value = rank == r % size ? r * 7 + t : -1;
        MUST(MPI_Bcast(&root_value, 1, MPI_INT, r % size, comms[t]));
        CHECK(root_value == r * 7 + t);
        MUST(MPI_Barrier(comms[t]));
        if (r % 25 == 0) {  // made and freed by all threads at once
          MPI_Comm copy, half;
          MUST(MPI_Comm_dup(comms[t], &copy));
          MUST(MPI_Comm_split(copy, rank % 2, rank, &half));
          int one = 1, total = 0, half_size = 0;
          MPI_Comm_size(half, &half_size);
          MUST(MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, half));
          CHECK(total == half_size && half_size == (size + (rank % 2 == 0)) / 2);
          MUST(MPI_Comm_free(&half));
          MUST(MPI_Comm_free(&copy));
        }
      }
    });
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int r = 0; r < rounds * 3; ++r) {
    int out = r * 1000 + rank, in = -1;
    MUST(MPI_Sendrecv(&out, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    CHECK(in == r * 1000 + from);
  }
  for (auto& thread : all) thread.join();
  for (auto& comm : comms) MUST(MPI_Comm_free(&comm));
  return finish();
}
