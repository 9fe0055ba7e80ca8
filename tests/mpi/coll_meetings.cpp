// What shared-memory collectives could get wrong and message-based ones cannot: ranks that run far
// ahead of others through rooted collectives, buffers reused while somebody still reads, areas of
// freed communicators given to new ones, sizes around every threshold, sleepers that nobody wakes.
// Random delays at random ranks; the same random order of calls at all.
#include "collective.h"

#include <unistd.h>

#include <algorithm>

using namespace check;

static Random local(1);  // differs between ranks

static void maybe_delay() {
  const uint64_t dice = local.next() % 64;
  if (dice == 0) usleep(static_cast<useconds_t>(local.next() % 3000));
  if (dice == 1) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::microseconds(local.next() % 500);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
}

static int value(int seed, int from, int to, int index) {
  return static_cast<int>((seed * 31u + from * 1009u + to * 917u + index * 7u) & 0xfffff);
}

static std::vector<int> block(int seed, int from, int to, int count) {
  std::vector<int> values(count);
  for (int i = 0; i < count; ++i) values[i] = value(seed, from, to, i);
  return values;
}

static int sum_of(int seed, int members, int index) {
  int sum = 0;
  for (int r = 0; r < members; ++r) sum += value(seed, r, 0, index);
  return sum;
}

static void one(const Team& team, int what, int root, int count, int seed) {
  const int n = team.size, me = team.rank;
  MPI_Comm comm = team.comm;
  std::vector<int> in, out;
  const auto is = [&](const std::vector<int>& got, const std::vector<int>& wanted,
                      const char* name) {
    CHECK(got == wanted, "%s of %d ints, root %d, on %s", name, count, root, team.name);
  };
  switch (what) {
    case 0:
      MUST(MPI_Barrier(comm));
      break;
    case 1:
      in = me == root ? block(seed, root, 0, count) : std::vector<int>(count);
      MUST(MPI_Bcast(in.data(), count, MPI_INT, root, comm));
      is(in, block(seed, root, 0, count), "Bcast");
      break;
    case 2:
      out = block(seed, me, 0, count);
      in.assign(me == root ? count : 0, -1);
      MUST(MPI_Reduce(out.data(), in.data(), count, MPI_INT, MPI_SUM, root, comm));
      for (int i = 0; i < static_cast<int>(in.size()); i += 1 + count / 100)
        CHECK(in[i] == sum_of(seed, n, i), "Reduce of %d, root %d, on %s", count, root, team.name);
      break;
    case 3:
      out = block(seed, me, 0, count);
      in.assign(count, -1);
      MUST(MPI_Allreduce(out.data(), in.data(), count, MPI_INT, MPI_SUM, comm));
      for (int i = 0; i < count; i += 1 + count / 100)
        CHECK(in[i] == sum_of(seed, n, i), "Allreduce of %d on %s", count, team.name);
      break;
    case 4:
    case 5: {
      // Uneven: rank r gives count + r.
      out = block(seed, me, 0, count + me);
      std::vector<int> counts(n), places(n);
      int sum = 0;
      for (int r = 0; r < n; ++r) {
        counts[r] = count + r;
        places[r] = sum;
        sum += counts[r];
      }
      in.assign(what == 5 || me == root ? sum : 0, -1);
      if (what == 4)
        MUST(MPI_Gatherv(out.data(), count + me, MPI_INT, in.data(), counts.data(), places.data(),
                         MPI_INT, root, comm));
      else
        MUST(MPI_Allgatherv(out.data(), count + me, MPI_INT, in.data(), counts.data(),
                            places.data(), MPI_INT, comm));
      for (int r = 0; r < n && !in.empty(); ++r)
        is({in.begin() + places[r], in.begin() + places[r] + counts[r]},
           block(seed, r, 0, counts[r]), "[All]gatherv");
      break;
    }
    case 6:
      if (me == root)
        for (int r = 0; r < n; ++r) {
          const auto part = block(seed, root, r, count);
          out.insert(out.end(), part.begin(), part.end());
        }
      in.assign(count, -1);
      MUST(MPI_Scatter(out.data(), count, MPI_INT, in.data(), count, MPI_INT, root, comm));
      is(in, block(seed, root, me, count), "Scatter");
      break;
    case 7:
      for (int r = 0; r < n; ++r) {
        const auto part = block(seed, me, r, count);
        out.insert(out.end(), part.begin(), part.end());
      }
      in.assign(count * n, -1);
      MUST(MPI_Alltoall(out.data(), count, MPI_INT, in.data(), count, MPI_INT, comm));
      for (int r = 0; r < n; ++r)
        is({in.begin() + r * count, in.begin() + (r + 1) * count}, block(seed, r, me, count),
           "Alltoall");
      break;
    case 8: {
      // Every other pair gives ten times as much.
      std::vector<int> give(n), take(n), from(n), to(n);
      int sent = 0, received = 0;
      for (int r = 0; r < n; ++r) {
        give[r] = (me + r) % 2 ? count * 10 : count;
        take[r] = give[r];
        from[r] = sent;
        to[r] = received;
        sent += give[r];
        received += take[r];
        const auto part = block(seed, me, r, give[r]);
        out.insert(out.end(), part.begin(), part.end());
      }
      in.assign(received, -1);
      MUST(MPI_Alltoallv(out.data(), give.data(), from.data(), MPI_INT, in.data(), take.data(),
                         to.data(), MPI_INT, comm));
      for (int r = 0; r < n; ++r)
        is({in.begin() + to[r], in.begin() + to[r] + take[r]}, block(seed, r, me, take[r]),
           "Alltoallv");
      break;
    }
    case 9:
    case 10: {
      out = block(seed, me, 0, count);
      in.assign(count, -1);
      if (what == 9)
        MUST(MPI_Scan(out.data(), in.data(), count, MPI_INT, MPI_SUM, comm));
      else
        MUST(MPI_Exscan(out.data(), in.data(), count, MPI_INT, MPI_SUM, comm));
      const int upto = what == 9 ? me + 1 : me;
      for (int i = 0; i < count && upto > 0; i += 1 + count / 100)
        CHECK(in[i] == sum_of(seed, upto, i), "[Ex]scan of %d on %s", count, team.name);
      break;
    }
    case 11:
      out = block(seed, me, 0, count * n);
      in.assign(count, -1);
      MUST(MPI_Reduce_scatter_block(out.data(), in.data(), count, MPI_INT, MPI_SUM, comm));
      for (int i = 0; i < count; i += 1 + count / 100)
        CHECK(in[i] == sum_of(seed, n, me * count + i), "Reduce_scatter_block of %d on %s", count,
              team.name);
      break;
    default:
      break;
  }
}
static constexpr int kinds = 12;

static int some_count(Random& random, int limit) {
  static const int around[] = {1,    2,     55,    56,    57,    100,  1000,
                               4096, 16383, 16384, 16385, 40000, 70000};
  int count = around[random.next() % (sizeof around / sizeof *around)];
  if (random.next() % 3) count = 1 + static_cast<int>(random.next() % 60);
  return std::min(count, limit);
}

// A root may run ahead: nobody makes it wait but the window.
static void run_ahead() {
  const Team world("world", MPI_COMM_WORLD);
  for (int what : {1, 2, 4, 6})
    for (int count : {1, 300, 20000})
      for (int i = 0; i < 40; ++i) {
        if (rank == (i / 20 ? 0 : size - 1) && i % 16 == 0) usleep(2000);
        one(world, what, count == 1 ? i % size : 0, std::min(count, 200000 / size), i);
      }
}

// Floating-point sums have the same bits in every run and at every rank.
static void same_bits() {
  for (int count : {1, 20, 5000}) {
    std::vector<double> in(count), first;
    for (int run = 0; run < 8; ++run) {
      std::vector<double> out(count);
      Random random(77 + rank);
      for (double& x : out) x = 1.0 / (1.0 + static_cast<double>(random.next() % 1000));
      maybe_delay();
      MUST(MPI_Allreduce(out.data(), in.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
      if (run == 0) first = in;
      CHECK(memcmp(first.data(), in.data(), count * sizeof(double)) == 0, "run %d of %d", run,
            count);
      std::vector<double> others = in;
      MUST(MPI_Bcast(others.data(), count, MPI_DOUBLE, run % size, MPI_COMM_WORLD));
      CHECK(memcmp(others.data(), in.data(), count * sizeof(double)) == 0, "of rank %d",
            run % size);
    }
  }
}

// A rank that waits for something else goes on with its collectives: rank 0 waits for a message
// that rank 1 sends only after a barrier which needs rank 0's part of it.
static void background() {
  if (size < 2) return;
  for (int i = 0; i < 50; ++i) {
    MPI_Request request;
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    int got = -1;
    maybe_delay();
    if (rank == 0) {
      if (i % 2) {
        MPI_Status status;
        MUST(MPI_Probe(1, 5, MPI_COMM_WORLD, &status));
      }
      MUST(MPI_Recv(&got, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(got == i);
    }
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (rank == 1) MUST(MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD));
    // And in a blocking collective on another communicator.
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    if (i % 3 == 0) maybe_delay();
    if (rank != 1) MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (rank == 1) MUST(MPI_Barrier(MPI_COMM_WORLD));
  }
}

static void persistent() {
  std::vector<int> out(100), sum(100), all(100 * size);
  MPI_Request requests[3];
  MUST(MPI_Allreduce_init(out.data(), sum.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &requests[0]));
  MUST(MPI_Allgather_init(out.data(), 100, MPI_INT, all.data(), 100, MPI_INT, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &requests[1]));
  MUST(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]));
  for (int i = 0; i < 20; ++i) {
    const std::vector<int> values = block(i, rank, 0, 100);
    std::copy(values.begin(), values.end(), out.begin());  // where the requests know it
    maybe_delay();
    MUST(MPI_Startall(3, requests));
    if (i % 2) MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < 100; ++k) CHECK(sum[k] == sum_of(i, size, k));
    for (int r = 0; r < size; ++r)
      CHECK(std::vector<int>(all.begin() + r * 100, all.begin() + (r + 1) * 100) ==
            block(i, r, 0, 100));
  }
  for (MPI_Request& request : requests) MUST(MPI_Request_free(&request));
}

int main(int argc, char** argv) {
  start(argc, argv);
  local = Random(1000 + rank);
  const int rounds = static_cast<int>(option("rounds", 6));
  const int operations = static_cast<int>(option("operations", 60));
  const int limit = static_cast<int>(option("limit", size > 4 ? 20000 : 70000));
  run_ahead();
  same_bits();
  background();
  persistent();
  Random shared(static_cast<uint64_t>(option("seed", 42)));
  for (int round = 0; round < rounds; ++round) {
    auto all = teams();  // new communicators in areas that others had before
    for (int i = 0; i < operations; ++i) {
      const Team& team = all[shared.next() % all.size()];
      const int what = static_cast<int>(shared.next() % kinds);
      const int pick = static_cast<int>(shared.next() % 1000);
      int count = some_count(shared, limit);
      const int seed = static_cast<int>(shared.next() % 100000);
      if (team.comm == MPI_COMM_NULL) continue;
      if (what >= 4) count = std::min(count, 40000 / team.size + 1);
      maybe_delay();
      one(team, what, pick % team.size, count, seed);
    }
    free_teams(all);
  }
  return finish();
}
