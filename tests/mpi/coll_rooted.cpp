// Bcast, Gather, Gatherv, Scatter, Scatterv and their I-forms: all roots, sizes to 1 MiB and zero,
// in place, derived types, uneven counts with gaps, four communicators.
#include "collective.h"

using namespace check;

static std::vector<int> roots_of(const Team& team, int count) {
  std::vector<int> roots;
  for (int r = 0; r < team.size; ++r)
    if (count <= 1000 || r == 0 || r == team.size - 1) roots.push_back(r);
  return roots;
}

static void bcast(const Team& team, Form form, int count, int root) {
  std::vector<int> data =
      team.rank == root ? pattern(count, 77 + root) : std::vector<int>(count, 0);
  CALL(form, Bcast, bcast, data.data(), count, MPI_INT, root, team.comm);
  int wrong = differs(data.data(), count, 77 + root);
  CHECK(wrong < 0, "bcast %s %s: %d from %d: %d", team.name, name_of(form), count, root, wrong);
}

// Root sends a column, the others receive contiguous data (or the other way round).
static void bcast_types(const Team& team, Form form, int count, int root) {
  MPI_Datatype column;
  MUST(MPI_Type_vector(count, 1, 3, MPI_INT, &column));
  MUST(MPI_Type_commit(&column));
  const bool strided = (team.rank + root) % 2 == 0;
  std::vector<int> data(strided ? count * 3 : count, untouched);
  const int step = strided ? 3 : 1;
  if (team.rank == root)
    for (int i = 0; i < count; ++i) data[i * step] = element(5, i);
  if (strided)
    CALL(form, Bcast, bcast, data.data(), 1, column, root, team.comm);
  else
    CALL(form, Bcast, bcast, data.data(), count, MPI_INT, root, team.comm);
  for (int i = 0; i < count; ++i) CHECK(data[i * step] == element(5, i), "bcast type %d", i);
  if (strided)
    for (int i = 0; i < count * 3; ++i) CHECK(i % 3 == 0 || data[i] == untouched, "gap %d", i);
  MUST(MPI_Type_free(&column));
}

static void gather(const Team& team, Form form, int count, int root, bool in_place) {
  const bool is_root = team.rank == root;
  std::vector<int> mine = pattern(count, team.rank + 9),
                   all(is_root ? count * team.size + 1 : 1, untouched);
  if (is_root && in_place) {
    std::copy(mine.begin(), mine.end(), all.begin() + root * count);
    CALL(form, Gather, gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_INT, root,
         team.comm);
  } else if (is_root) {
    CALL(form, Gather, gather, mine.data(), count, MPI_INT, all.data(), count, MPI_INT, root,
         team.comm);
  } else {
    CALL(form, Gather, gather, mine.data(), count, MPI_INT, nullptr, -1, MPI_DATATYPE_NULL, root,
         team.comm);
  }
  if (!is_root) return;
  for (int r = 0; r < team.size; ++r)
    CHECK(differs(all.data() + r * count, count, r + 9) < 0, "gather %s %s: %d to %d: from %d",
          team.name, name_of(form), count, root, r);
  CHECK(all[count * team.size] == untouched);
}

static void scatter(const Team& team, Form form, int count, int root, bool in_place) {
  const bool is_root = team.rank == root;
  std::vector<int> mine(count + 1, untouched), all;
  if (is_root)
    for (int r = 0; r < team.size; ++r) {
      auto part = pattern(count, r + 11);
      all.insert(all.end(), part.begin(), part.end());
    }
  if (is_root && in_place)
    CALL(form, Scatter, scatter, all.data(), count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL,
         root, team.comm);
  else if (is_root)
    CALL(form, Scatter, scatter, all.data(), count, MPI_INT, mine.data(), count, MPI_INT, root,
         team.comm);
  else
    CALL(form, Scatter, scatter, nullptr, -1, MPI_DATATYPE_NULL, mine.data(), count, MPI_INT, root,
         team.comm);
  if (!(is_root && in_place))
    CHECK(differs(mine.data(), count, team.rank + 11) < 0, "scatter %s %s: %d from %d", team.name,
          name_of(form), count, root);
  CHECK(mine[count] == untouched);
}

// Rank r has (r * 5 + base) % 13 * scale elements; gaps of 2 between the parts, in reverse order.
struct Uneven {
  std::vector<int> counts, displacements;
  int total = 0;
  Uneven(const Team& team, int base, int scale) : counts(team.size), displacements(team.size) {
    for (int r = team.size - 1; r >= 0; --r) {
      counts[r] = (r * 5 + base) % 13 * scale;
      displacements[r] = total;
      total += counts[r] + 2;
    }
  }
};

static void vectors(const Team& team, Form form, int base, int scale, int root, bool in_place) {
  Uneven uneven(team, base, scale);
  const bool is_root = team.rank == root;
  const int count = uneven.counts[team.rank];
  std::vector<int> mine = pattern(count, team.rank + 21),
                   all(is_root ? uneven.total + 1 : 1, untouched);
  if (is_root && in_place) {
    std::copy(mine.begin(), mine.end(), all.begin() + uneven.displacements[root]);
    CALL(form, Gatherv, gatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(),
         uneven.counts.data(), uneven.displacements.data(), MPI_INT, root, team.comm);
  } else {
    CALL(form, Gatherv, gatherv, mine.data(), count, MPI_INT, is_root ? all.data() : nullptr,
         is_root ? uneven.counts.data() : nullptr, is_root ? uneven.displacements.data() : nullptr,
         MPI_INT, root, team.comm);
  }
  if (is_root)
    for (int r = 0; r < team.size; ++r) {
      CHECK(differs(all.data() + uneven.displacements[r], uneven.counts[r], r + 21) < 0,
            "gatherv %s %s: from %d", team.name, name_of(form), r);
      CHECK(all[uneven.displacements[r] + uneven.counts[r]] == untouched, "gap after %d", r);
    }
  // And back.
  std::vector<int> back(count + 1, untouched);
  if (is_root && in_place)
    CALL(form, Scatterv, scatterv, all.data(), uneven.counts.data(), uneven.displacements.data(),
         MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, team.comm);
  else
    CALL(form, Scatterv, scatterv, is_root ? all.data() : nullptr,
         is_root ? uneven.counts.data() : nullptr, is_root ? uneven.displacements.data() : nullptr,
         MPI_INT, back.data(), count, MPI_INT, root, team.comm);
  if (!(is_root && in_place))
    CHECK(differs(back.data(), count, team.rank + 21) < 0, "scatterv %s %s", team.name,
          name_of(form));
  CHECK(back[count] == untouched);
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int limit = static_cast<int>(option("limit", 262144));
  for_teams([&](const Team& team, Form form) {
    for (int count : counts_to(limit))
      for (int root : roots_of(team, count)) {
        bcast(team, form, count, root);
        if (count && count <= 40000) bcast_types(team, form, count, root);
        if (count * team.size > 4 * limit) continue;
        for (bool in_place : {false, true}) {
          gather(team, form, count, root, in_place);
          scatter(team, form, count, root, in_place);
        }
      }
    for (int root = 0; root < team.size; ++root)
      for (int scale : {0, 1, 100, 3000})
        for (bool in_place : {false, true}) vectors(team, form, root * 3, scale, root, in_place);
  });
  return finish();
}
