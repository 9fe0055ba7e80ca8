// Long non-blocking and persistent reductions, which ranks share: the operation is not associative,
// so the bits tell in which order who joined what. In place, elements with gaps, shares of nothing.
#include <algorithm>
#include <cstddef>

#include "collective.h"

using namespace check;

struct Wide {
  double value;
  double gap[2];
};
constexpr double of_the_gap = -7;

static long joined;  // elements, by this rank
template <class Element, double& (*value)(Element&)>
static void average(void* in, void* inout, int* length, MPI_Datatype*) {
  auto *a = static_cast<Element*>(in), *b = static_cast<Element*>(inout);
  for (int i = 0; i < *length; ++i) value(b[i]) = value(a[i]) * 0.5 + value(b[i]) * 0.5;
  joined += *length;
}
static double& of_double(double& element) {
  return element;
}
static double& of_wide(Wide& element) {
  return element.value;
}

static double given(int rank, int index, int round) {
  return 1.0 / (1 + rank * 3 + index % 1009 + round);
}
static double expected(int ranks, int index, int round) {
  double result = given(ranks - 1, index, round);
  for (int each = ranks - 2; each >= 0; --each)
    result = given(each, index, round) * 0.5 + result * 0.5;
  return result;
}

// Another library may join in another order.
static bool right(double value, int ranks, int index, int round) {
  static const bool theirs = on_mpich();
  return theirs ? value > 0 && value <= 1 : value == expected(ranks, index, round);
}

template <class Element, double& (*value)(Element&)>
struct Case {
  const char* name;
  MPI_Datatype type;
  MPI_Op op;
  bool in_place;

  void give(std::vector<Element>& buffer, const Team& team, int round) const {
    for (size_t i = 0; i < buffer.size(); ++i) {
      std::fill_n(reinterpret_cast<double*>(&buffer[i]), sizeof(Element) / sizeof(double),
                  of_the_gap);
      value(buffer[i]) = given(team.rank, int(i), round);
    }
  }

  // Of the result the first `count`, which are those from `first` on of all.
  void look(std::vector<Element>& result, int first, int count, const Team& team, int round,
            const char* what) const {
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
      wrong += !right(value(result[i]), team.size, first + i, round);
      if (sizeof(Element) > sizeof(double))
        wrong += reinterpret_cast<double*>(&result[i])[1] != of_the_gap;
    }
    CHECK(wrong == 0, "%s of %d on %s, %s%s: %d wrong", what, count, team.name, name,
          in_place ? ", in place" : "", wrong);
  }

  void allreduce(const Team& team, int count, bool persistent) const {
    std::vector<Element> out(count), in(count);
    const void* from = in_place ? MPI_IN_PLACE : out.data();
    MPI_Request request = MPI_REQUEST_NULL;
    if (persistent)
      MUST(
          MPI_Allreduce_init(from, in.data(), count, type, op, team.comm, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; ++round) {
      give(in, team, round);
      give(out, team, round);
      joined = 0;
      if (round == team.rank % 3) compute_ms(2);
      if (persistent)
        MUST(MPI_Start(&request));
      else
        MUST(MPI_Iallreduce(from, in.data(), count, type, op, team.comm, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      look(in, 0, count, team, round, persistent ? "Allreduce_init" : "Iallreduce");
      // Nobody joins more than its share.
      const long share = (count + team.size - 1) / team.size;
      if (!on_mpich() && team.size > 2 && count > 1000)
        CHECK(joined > 0 && joined <= share * (team.size - 1), "%ld of %d", joined, count);
    }
    if (persistent) MUST(MPI_Request_free(&request));
  }

  void reduce_scatter(const Team& team, const std::vector<int>& counts, bool block) const {
    int all = 0, first = 0;
    for (int member = 0; member < team.size; ++member) {
      if (member == team.rank) first = all;
      all += counts[member];
    }
    const int mine = counts[team.rank];
    std::vector<Element> out(all), in(in_place ? all : mine);
    for (int round = 0; round < 3; ++round) {
      give(out, team, round);
      give(in, team, round);
      joined = 0;
      if (round == team.rank % 3) compute_ms(2);
      const void* from = in_place ? MPI_IN_PLACE : out.data();
      MPI_Request request;
      if (block)
        MUST(MPI_Ireduce_scatter_block(from, in.data(), mine, type, op, team.comm, &request));
      else
        MUST(MPI_Ireduce_scatter(from, in.data(), counts.data(), type, op, team.comm, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      look(in, first, mine, team, round, block ? "Ireduce_scatter_block" : "Ireduce_scatter");
      if (!on_mpich() && all > 1000)
        CHECK(joined == long(mine) * (team.size - 1), "%ld of %d", joined, mine);
    }
  }

  void all(const Team& team) const {
    std::vector<int> uneven, even;
    for (int member = 0; member < team.size; ++member) {
      uneven.push_back(member % 3 == 1 ? 0 : 5000 + member);
      even.push_back(2500);
    }
    for (int count : {100, 2500 * team.size + 5}) {
      allreduce(team, count, false);
      allreduce(team, count, true);
    }
    // MPICH writes beyond its own memory if the elements have gaps.
    if (on_mpich() && sizeof(Element) > sizeof(double)) return;
    reduce_scatter(team, std::vector<int>(team.size, 3), true);
    reduce_scatter(team, even, true);
    reduce_scatter(team, uneven, false);
  }
};

int main(int argc, char** argv) {
  start(argc, argv);
  MPI_Datatype wide;
  MUST(MPI_Type_create_resized(MPI_DOUBLE, 0, sizeof(Wide), &wide));
  MUST(MPI_Type_commit(&wide));
  MPI_Op of_doubles, of_wides;
  MUST(MPI_Op_create(average<double, of_double>, 0, &of_doubles));
  MUST(MPI_Op_create(average<Wide, of_wide>, 0, &of_wides));
  auto all = teams();
  for (auto& team : all) {
    if (team.comm == MPI_COMM_NULL) continue;
    for (bool in_place : {false, true}) {
      Case<double, of_double>{"doubles", MPI_DOUBLE, of_doubles, in_place}.all(team);
      Case<Wide, of_wide>{"with gaps", wide, of_wides, in_place}.all(team);
    }
  }
  free_teams(all);
  MUST(MPI_Op_free(&of_doubles));
  MUST(MPI_Op_free(&of_wides));
  MUST(MPI_Type_free(&wide));
  return finish();
}
