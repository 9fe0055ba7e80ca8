// Long allgathers, reduces and alltoalls, whose blocks others may read where they lie and write
// past the caches: the buffers are written to as soon as the call is over, ranks come late in
// turns, layouts differ from rank to rank, addresses are odd, in place.
#include "collective.h"

using namespace check;

// Of `in` those `step` apart from `first` on must be what rank `from` meant.
static void look(const std::vector<int>& in, int first, int step, int count, int seed, int shift,
                 const Team& team, const char* what) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += in[size_t(first + i) * step] != element(seed, shift + i);
  CHECK(wrong == 0, "%s of %d ints on %s: %d wrong with seed %d", what, count, team.name, wrong,
        seed);
}

static void allgather(const Team& team, int count, const Sparse& give, const Sparse& take) {
  std::vector<int> out(size_t(count) * give.step), in(size_t(count) * team.size * take.step);
  for (int round = 0; round < 3; ++round) {
    const int seed = team.rank * 100 + round;
    for (int i = 0; i < count; ++i) out[size_t(i) * give.step] = element(seed, i);
    std::fill(in.begin(), in.end(), untouched);
    if (round == team.rank % 3) compute_ms(2);
    MUST(MPI_Allgather(out.data(), count, give.type, in.data(), count, take.type, team.comm));
    std::fill(out.begin(), out.end(), untouched);
    for (int from = 0; from < team.size; ++from)
      look(in, from * count, take.step, count, from * 100 + round, 0, team, "Allgather");
    if (take.step > 1) CHECK(in[1] == untouched);
  }
}

// In place: rank r gives count - r. One layout on all ranks (MPICH's pieces go by the extent).
static void uneven_allgather(const Team& team, int count, const Sparse& take) {
  std::vector<int> in(size_t(count) * team.size * take.step), counts, places;
  for (int from = 0; from < team.size; ++from) {
    counts.push_back(count - from);
    places.push_back(from * count);
  }
  std::fill(in.begin(), in.end(), untouched);
  for (int i = 0; i < counts[team.rank]; ++i)
    in[size_t(places[team.rank] + i) * take.step] = element(team.rank, i);
  MUST(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, in.data(), counts.data(), places.data(), take.type,
                      team.comm));
  for (int from = 0; from < team.size; ++from) {
    look(in, places[from], take.step, counts[from], from, 0, team, "Allgatherv");
    if (from > 0) CHECK(in[size_t(places[from] + counts[from]) * take.step] == untouched);
  }
}

static void reduce(const Team& team, int count, bool in_place) {
  std::vector<int> out(count), in(count);
  for (int root = 0; root < team.size; root += std::max(1, team.size - 1)) {
    const bool here = team.rank == root;
    for (int i = 0; i < count; ++i) out[i] = element(team.rank, i);
    std::fill(in.begin(), in.end(), untouched);
    if (in_place && here) in = out;
    if (team.rank == (root + 1) % team.size) compute_ms(2);
    MUST(MPI_Reduce(in_place && here ? MPI_IN_PLACE : out.data(), here ? in.data() : nullptr, count,
                    MPI_INT, MPI_BXOR, root, team.comm));
    std::fill(out.begin(), out.end(), untouched);
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
      int all = 0;
      for (int from = 0; from < team.size; ++from) all ^= element(from, i);
      wrong += in[i] != (here ? all : untouched);
    }
    CHECK(wrong == 0, "Reduce of %d ints on %s to %d: %d wrong", count, team.name, root, wrong);
  }
}

// At addresses that are no multiples of a cache line.
static void alltoall(const Team& team, int count) {
  const int all = count * team.size;
  std::vector<int> out(size_t(all) + 3), in(size_t(all) + 2);
  for (int i = 0; i < all; ++i) out[3 + i] = element(team.rank, i);
  in[0] = in[size_t(all) + 1] = untouched;
  MUST(MPI_Alltoall(out.data() + 3, count, MPI_INT, in.data() + 1, count, MPI_INT, team.comm));
  std::fill(out.begin(), out.end(), untouched);
  for (int from = 0; from < team.size; ++from)
    look(in, 1 + from * count, 1, count, from, team.rank * count, team, "Alltoall");
  CHECK(in[0] == untouched && in[size_t(all) + 1] == untouched);
}

int main(int argc, char** argv) {
  start(argc, argv);
  {
    const Sparse dense(1), sparse(2);
    auto all = teams();
    for (auto& team : all) {
      if (team.comm == MPI_COMM_NULL) continue;
      for (int count : {20000, 40001}) {
        allgather(team, count, dense, dense);
        allgather(team, count, team.rank % 2 ? dense : sparse, team.rank % 3 ? sparse : dense);
        uneven_allgather(team, count, dense);
        uneven_allgather(team, count, sparse);
        reduce(team, count, false);
        reduce(team, count, true);
      }
      reduce(team, 300001, false);  // more than a round of 1 MiB
      for (int count : {50001, 300001})
        if (count * double(team.size) * team.size < 5e6) alltoall(team, count);
    }
    free_teams(all);
  }
  return finish();
}
