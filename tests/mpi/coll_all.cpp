// Barrier, Allgather, Allgatherv, Alltoall, Alltoallv, Alltoallw and their I-forms: sizes to 1 MiB
// and zero, in place, derived types, uneven counts with gaps, four communicators.
#include "collective.h"

using namespace check;

// Nobody leaves before the last has come: a counter in the last comer's message would need MPI
// again, so each rank looks at its own clock (one node, one clock).
static void barrier(const Team& team, Form form) {
  for (int late = 0; late<team.size; late += team.size> 4 ? 5 : 1) {
    auto now = [] {
      timespec time;
      clock_gettime(CLOCK_MONOTONIC, &time);
      return static_cast<long>(time.tv_sec * 1000000000ll + time.tv_nsec);
    };
    if (team.rank == late) sleep_ms(2);
    long came = now();
    if (form == Form::blocking) {
      MUST(MPI_Barrier(team.comm));
    } else {
      MPI_Request request;
      MUST(MPI_Ibarrier(team.comm, &request));
      complete(form, &request);
    }
    long left = now(), last_came = came, first_left = left;
    if (team.rank == 0) {
      for (int r = 1; r < team.size; ++r) {
        long times[2];
        MUST(MPI_Recv(times, 2, MPI_LONG, r, 1, team.comm, MPI_STATUS_IGNORE));
        last_came = std::max(last_came, times[0]);
        first_left = std::min(first_left, times[1]);
      }
      CHECK(first_left >= last_came, "barrier %s %s: left %ld ns before the last came", team.name,
            name_of(form), last_came - first_left);
    } else {
      long times[2] = {came, left};
      MUST(MPI_Send(times, 2, MPI_LONG, 0, 1, team.comm));
    }
  }
}

static void allgather(const Team& team, Form form, int count, bool in_place) {
  std::vector<int> mine = pattern(count, team.rank + 3), all(count * team.size + 1, untouched);
  if (in_place) {
    std::copy(mine.begin(), mine.end(), all.begin() + team.rank * count);
    CALL(form, Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_INT,
         team.comm);
  } else {
    CALL(form, Allgather, allgather, mine.data(), count, MPI_INT, all.data(), count, MPI_INT,
         team.comm);
  }
  for (int r = 0; r < team.size; ++r)
    CHECK(differs(all.data() + r * count, count, r + 3) < 0, "allgather %s %s: %d, from %d",
          team.name, name_of(form), count, r);
  CHECK(all[count * team.size] == untouched);
}

static void allgather_types(const Team& team, Form form, int count) {
  // Each rank's part becomes a column of a matrix with one column a rank.
  MPI_Datatype column, stacked;
  MUST(MPI_Type_vector(count, 1, team.size, MPI_INT, &column));
  MUST(MPI_Type_create_resized(column, 0, sizeof(int), &stacked));
  MUST(MPI_Type_commit(&stacked));
  std::vector<int> mine = pattern(count, team.rank), matrix(count * team.size, untouched);
  CALL(form, Allgather, allgather, mine.data(), count, MPI_INT, matrix.data(), 1, stacked,
       team.comm);
  for (int i = 0; i < count * team.size; ++i)
    CHECK(matrix[i] == element(i % team.size, i / team.size), "allgather types %d", i);
  MUST(MPI_Type_free(&column));
  MUST(MPI_Type_free(&stacked));
}

static void allgatherv(const Team& team, Form form, int scale, bool in_place) {
  std::vector<int> counts(team.size), displacements(team.size);
  int total = 0;
  for (int r = team.size - 1; r >= 0; --r) {
    counts[r] = (r * 7 + 3) % 5 * scale;
    displacements[r] = total;
    total += counts[r] + 1;
  }
  const int count = counts[team.rank];
  std::vector<int> mine = pattern(count, team.rank + 31), all(total + 1, untouched);
  if (in_place) {
    std::copy(mine.begin(), mine.end(), all.begin() + displacements[team.rank]);
    CALL(form, Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(),
         counts.data(), displacements.data(), MPI_INT, team.comm);
  } else {
    CALL(form, Allgatherv, allgatherv, mine.data(), count, MPI_INT, all.data(), counts.data(),
         displacements.data(), MPI_INT, team.comm);
  }
  for (int r = 0; r < team.size; ++r) {
    CHECK(differs(all.data() + displacements[r], counts[r], r + 31) < 0, "allgatherv %s %s from %d",
          team.name, name_of(form), r);
    CHECK(all[displacements[r] + counts[r]] == untouched, "gap after %d", r);
  }
}

static int pair_seed(int from, int to) {
  return from * 1000 + to + 41;
}

static void alltoall(const Team& team, Form form, int count, bool in_place) {
  std::vector<int> out, in(count * team.size + 1, untouched);
  for (int r = 0; r < team.size; ++r) {
    auto part = pattern(count, pair_seed(team.rank, r));
    out.insert(out.end(), part.begin(), part.end());
  }
  if (in_place) {
    std::copy(out.begin(), out.end(), in.begin());
    CALL(form, Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in.data(), count, MPI_INT,
         team.comm);
  } else {
    CALL(form, Alltoall, alltoall, out.data(), count, MPI_INT, in.data(), count, MPI_INT,
         team.comm);
  }
  for (int r = 0; r < team.size; ++r)
    CHECK(differs(in.data() + r * count, count, pair_seed(r, team.rank)) < 0,
          "alltoall %s %s: %d from %d", team.name, name_of(form), count, r);
  CHECK(in[count * team.size] == untouched);
}

// The pair (a, b) exchanges as many as (b, a) where `symmetric`, which in place needs.
static int pair_count(int from, int to, int scale, bool symmetric) {
  return symmetric ? (from * to + from + to) % 4 * scale : (from * 3 + to) % 5 * scale;
}

static void alltoallv(const Team& team, Form form, int scale, bool in_place) {
  const int n = team.size;
  std::vector<int> send_counts(n), send_at(n), receive_counts(n), receive_at(n);
  int send_total = 0, receive_total = 0;
  for (int r = 0; r < n; ++r) {
    send_counts[r] = pair_count(team.rank, r, scale, in_place);
    send_at[r] = send_total;
    send_total += send_counts[r] + 1;
    receive_counts[r] = pair_count(r, team.rank, scale, in_place);
    receive_at[r] = receive_total;
    receive_total += receive_counts[r] + 1;
  }
  std::vector<int> out(send_total, 0), in(receive_total, untouched);
  for (int r = 0; r < n; ++r) {
    auto part = pattern(send_counts[r], pair_seed(team.rank, r));
    std::copy(part.begin(), part.end(), (in_place ? in : out).begin() + send_at[r]);
  }
  if (in_place)
    CALL(form, Alltoallv, alltoallv, MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, in.data(),
         receive_counts.data(), receive_at.data(), MPI_INT, team.comm);
  else
    CALL(form, Alltoallv, alltoallv, out.data(), send_counts.data(), send_at.data(), MPI_INT,
         in.data(), receive_counts.data(), receive_at.data(), MPI_INT, team.comm);
  for (int r = 0; r < n; ++r) {
    CHECK(differs(in.data() + receive_at[r], receive_counts[r], pair_seed(r, team.rank)) < 0,
          "alltoallv %s %s from %d", team.name, name_of(form), r);
    CHECK(in[receive_at[r] + receive_counts[r]] == untouched, "gap after %d", r);
  }
}

// Alltoallw: to even ranks contiguous ints, to odd ranks a column; received the other way round.
static void alltoallw(const Team& team, Form form, int count) {
  const int n = team.size;
  MPI_Datatype column;
  MUST(MPI_Type_vector(count, 1, 2, MPI_INT, &column));
  MUST(MPI_Type_commit(&column));
  std::vector<int> counts_out(n), counts_in(n), at(n);
  std::vector<MPI_Datatype> types_out(n), types_in(n);
  std::vector<int> out(2 * count * n + 1, untouched), in(2 * count * n + 1, untouched);
  for (int r = 0; r < n; ++r) {
    at[r] = 2 * count * r * static_cast<int>(sizeof(int));
    const bool strided_out = (r + team.rank) % 3 == 0, strided_in = (r + team.rank) % 2 == 0;
    counts_out[r] = strided_out ? 1 : count;
    counts_in[r] = strided_in ? 1 : count;
    types_out[r] = strided_out ? column : MPI_INT;
    types_in[r] = strided_in ? column : MPI_INT;
    for (int i = 0; i < count; ++i)
      out[2 * count * r + i * (strided_out ? 2 : 1)] = element(pair_seed(team.rank, r), i);
  }
  CALL(form, Alltoallw, alltoallw, out.data(), counts_out.data(), at.data(), types_out.data(),
       in.data(), counts_in.data(), at.data(), types_in.data(), team.comm);
  for (int r = 0; r < n; ++r) {
    const int step = (r + team.rank) % 2 == 0 ? 2 : 1;
    for (int i = 0; i < count; ++i)
      CHECK(in[2 * count * r + i * step] == element(pair_seed(r, team.rank), i), "alltoallw %d %d",
            r, i);
  }
  MUST(MPI_Type_free(&column));
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int limit = static_cast<int>(option("limit", 262144));
  for_teams([&](const Team& team, Form form) {
    barrier(team, form);
    for (int count : counts_to(limit)) {
      if (count * team.size > 2 * limit) continue;
      for (bool in_place : {false, true}) {
        allgather(team, form, count, in_place);
        alltoall(team, form, count, in_place);
      }
      if (count <= 5000) {
        allgather_types(team, form, count);
        if (count) alltoallw(team, form, count);
      }
    }
    for (int scale : {0, 1, 50, 3000})
      for (bool in_place : {false, true}) {
        allgatherv(team, form, scale, in_place);
        alltoallv(team, form, scale, in_place);
      }
  });
  return finish();
}
