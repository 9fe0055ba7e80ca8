// Large blocks of an alltoall, a broadcast, a scatter, which others may read where they lie: the
// buffers are written to as soon as the call is over, ranks come late in turns, layouts differ from
// rank to rank, in place.
// Run also while the permission to read goes away in the middle.
#include "collective.h"

using namespace check;

static void fill(std::vector<int>& data, const Sparse& layout, int elements, int seed) {
  for (int i = 0; i < elements; ++i) data[size_t(i) * layout.step] = element(seed, i);
}

// Block `from` of what came must be the one that `from` meant for this rank.
static void look(const std::vector<int>& data, const Sparse& layout, int count, int round,
                 const Team& team, const char* what) {
  for (int from = 0; from < team.size; ++from) {
    int wrong = 0;
    for (int i = 0; i < count; ++i)
      wrong += data[size_t(from * count + i) * layout.step] !=
               element(from * 100 + round, team.rank * count + i);
    CHECK(wrong == 0, "%s of %d ints on %s: %d of those from %d", what, count, team.name, wrong,
          from);
  }
}

static void turns(const Team& team, int count, const Sparse& give, const Sparse& take) {
  const int all = count * team.size;
  std::vector<int> out(size_t(all) * give.step), in(size_t(all) * take.step);
  for (int round = 0; round < 4; ++round) {
    const int seed = team.rank * 100 + round;
    fill(out, give, all, seed);
    std::fill(in.begin(), in.end(), untouched);
    if (round == team.rank % 4) compute_ms(2);
    MUST(MPI_Alltoall(out.data(), count, give.type, in.data(), count, take.type, team.comm));
    std::fill(out.begin(), out.end(), untouched);
    look(in, take, count, round, team, "Alltoall");
    if (take.step > 1) CHECK(in[1] == untouched);

    fill(in, take, all, seed);
    MUST(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, in.data(), count, take.type, team.comm));
    look(in, take, count, round, team, "Alltoall in place");
    std::fill(in.begin(), in.end(), untouched);
  }
}

// Each rank is the root in turn, and one of the others comes late; what is not a root's own is
// untouched before and after. The last block of a scatter is of `count`, the first of none.
static void from_roots(const Team& team, int count, const Sparse& give, const Sparse& take) {
  std::vector<int> counts(team.size), places(team.size);
  int all = 0;
  for (int r = 0; r < team.size; ++r) {
    counts[r] = team.size == 1 ? count : int(long(count) * r / (team.size - 1));
    places[r] = all;
    all += counts[r] + 1;
  }
  const int own = counts[team.rank];
  std::vector<int> out(size_t(all) * give.step), in(size_t(own + 1) * take.step);
  for (int root = 0; root<team.size; root += team.size> 4 ? 3 : 1) {
    const bool is_root = team.rank == root;
    const Sparse& layout = is_root ? give : take;
    std::vector<int> data(size_t(count) * layout.step, untouched);
    if (is_root) fill(data, layout, count, root + 3);
    if (team.rank == (root + 1) % team.size) compute_ms(2);
    MUST(MPI_Bcast(data.data(), count, layout.type, root, team.comm));
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += data[size_t(i) * layout.step] != element(root + 3, i);
    CHECK(wrong == 0, "Bcast of %d ints on %s from %d: %d", count, team.name, root, wrong);
    std::fill(data.begin(), data.end(), untouched);

    for (bool in_place : {false, true}) {
      if (is_root) fill(out, give, all, root + 7);
      std::fill(in.begin(), in.end(), untouched);
      if (team.rank == (root + 2) % team.size) compute_ms(1);
      MUST(MPI_Scatterv(out.data(), counts.data(), places.data(), give.type,
                        is_root && in_place ? MPI_IN_PLACE : in.data(), own, take.type, root,
                        team.comm));
      if (is_root) std::fill(out.begin(), out.end(), untouched);
      wrong = 0;
      for (int i = 0; i < own && !(is_root && in_place); ++i)
        wrong += in[size_t(i) * take.step] != element(root + 7, places[team.rank] + i);
      CHECK(wrong == 0, "Scatterv of %d ints on %s from %d: %d", own, team.name, root, wrong);
      CHECK(in[size_t(own) * take.step] == untouched);
    }
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  {
    const Sparse dense(1), sparse(2);
    auto all = teams();
    for (auto& team : all) {
      if (team.comm == MPI_COMM_NULL) continue;
      for (int count : {200, 1024, 5000, 8192, 20001}) {
        if (count > option("limit", 20001)) break;
        turns(team, count, dense, dense);
        turns(team, count, team.rank % 2 ? dense : sparse, team.rank % 3 ? sparse : dense);
      }
      for (int count : {3000, 8192, 70000}) {
        from_roots(team, count, dense, dense);
        from_roots(team, count, team.rank % 2 ? dense : sparse, team.rank % 3 ? sparse : dense);
      }
    }
    free_teams(all);
  }
  return finish();
}
