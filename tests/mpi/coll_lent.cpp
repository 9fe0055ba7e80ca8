// Large blocks of an alltoall, which others may read where they lie: the buffers are written to as
// soon as the call is over, ranks come late in turns, layouts differ from rank to rank, in place.
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
    }
    free_teams(all);
  }
  return finish();
}
