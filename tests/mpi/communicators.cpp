// Communicators: dup, split, create, free while messages are under way, compare, names; traffic
// of different communicators never meets; groups and rank translation.
#include "check.h"

#include <algorithm>

using namespace check;

static int compare(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  MUST(MPI_Comm_compare(a, b, &result));
  return result;
}

static void dup_and_split() {
  MPI_Comm copy, reversed, parity, none, shared;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK(compare(MPI_COMM_WORLD, MPI_COMM_WORLD) == MPI_IDENT);
  CHECK(compare(MPI_COMM_WORLD, copy) == MPI_CONGRUENT);
  CHECK(compare(MPI_COMM_WORLD, MPI_COMM_SELF) == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
  MUST(MPI_Comm_split(MPI_COMM_WORLD, 7, -rank, &reversed));
  CHECK(compare(MPI_COMM_WORLD, reversed) == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
  int r, n;
  MUST(MPI_Comm_rank(reversed, &r));
  MUST(MPI_Comm_size(reversed, &n));
  CHECK(r == size - 1 - rank && n == size);
  MUST(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &parity));  // equal keys: old order
  MUST(MPI_Comm_rank(parity, &r));
  MUST(MPI_Comm_size(parity, &n));
  CHECK(r == rank / 2 && n == (size + (rank % 2 == 0)) / 2);
  MUST(MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : int(MPI_UNDEFINED), 0, &none));
  CHECK((none == MPI_COMM_NULL) == (rank == 0));
  MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
  MUST(MPI_Comm_size(shared, &n));
  CHECK(n == static_cast<int>(ranks_of_own_node().size()), "%d share memory", n);

  // The same tag on five communicators at once: each message stays in its own.
  struct {
    MPI_Comm comm;
    int out, in;
    MPI_Request requests[2];
  } all[] = {{MPI_COMM_WORLD, 0, 0, {}},
             {copy, 0, 0, {}},
             {reversed, 0, 0, {}},
             {parity, 0, 0, {}},
             {shared, 0, 0, {}}};
  for (int i = 4; i >= 0; --i) {
    int me, members;
    MPI_Comm_rank(all[i].comm, &me);
    MPI_Comm_size(all[i].comm, &members);
    all[i].out = i * 1000 + me;
    MUST(MPI_Isend(&all[i].out, 1, MPI_INT, (me + 1) % members, 1, all[i].comm,
                   &all[i].requests[0]));
  }
  for (int i = 0; i < 5; ++i)
    MUST(MPI_Irecv(&all[i].in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, all[i].comm,
                   &all[i].requests[1]));
  for (int i = 0; i < 5; ++i) {
    int me, members;
    MPI_Comm_rank(all[i].comm, &me);
    MPI_Comm_size(all[i].comm, &members);
    MUST(MPI_Waitall(2, all[i].requests, MPI_STATUSES_IGNORE));
    CHECK(all[i].in == i * 1000 + (me + members - 1) % members, "communicator %d: %d", i,
          all[i].in);
  }
  for (MPI_Comm* c : {&copy, &reversed, &parity, &shared}) {
    MUST(MPI_Comm_free(c));
    CHECK(*c == MPI_COMM_NULL);
  }
  if (rank) MUST(MPI_Comm_free(&none));
}

// Freed while messages are pending: they finish (MPI 5.0, 7.4.3).
static void freed_early() {
  MPI_Comm copy;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  static unsigned char out[100000], in[100000];
  MPI_Request requests[2];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  fill(out, sizeof out, rank);
  MUST(MPI_Irecv(in, sizeof in, MPI_BYTE, from, 1, copy, &requests[0]));
  if (rank % 2) sleep_ms(5);
  MUST(MPI_Isend(out, sizeof out, MPI_BYTE, to, 1, copy, &requests[1]));
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(first_wrong(in, sizeof in, from) < 0);
}

// Many come and go: nothing runs out, and contexts are not mixed.
static void many() {
  const int rounds = static_cast<int>(option("rounds", size > 4 ? 100 : 500));
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm a, b;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    MUST(MPI_Comm_split(a, (rank + i) % 2, rank, &b));
    int one = 1, sum = 0, n;
    MPI_Comm_size(b, &n);
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, b));
    CHECK(sum == n);
    MUST(MPI_Comm_free(i % 2 ? &a : &b));
    MUST(MPI_Comm_free(i % 2 ? &b : &a));
  }
  std::vector<MPI_Comm> alive(40);
  for (auto& c : alive) MUST(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  for (auto& c : alive) {
    int one = 1, sum = 0;
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c));
    CHECK(sum == size);
  }
  for (auto& c : alive) MUST(MPI_Comm_free(&c));
}

static void idup() {
  MPI_Comm copies[3];
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i) MUST(MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]));
  MUST(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  for (auto& c : copies) {
    CHECK(compare(c, MPI_COMM_WORLD) == MPI_CONGRUENT);
    MUST(MPI_Barrier(c));
    MUST(MPI_Comm_free(&c));
  }
}

static void groups() {
  MPI_Group world, evens, odds, all, none, some, other;
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
  int n, r;
  MUST(MPI_Group_size(world, &n));
  MUST(MPI_Group_rank(world, &r));
  CHECK(n == size && r == rank);
  std::vector<int> even_ranks;
  for (int i = size - 1; i >= 0; --i)
    if (i % 2 == 0) even_ranks.push_back(i);  // falling
  MUST(MPI_Group_incl(world, static_cast<int>(even_ranks.size()), even_ranks.data(), &evens));
  MUST(MPI_Group_excl(world, static_cast<int>(even_ranks.size()), even_ranks.data(), &odds));
  MUST(MPI_Group_size(evens, &n));
  CHECK(n == (size + 1) / 2);
  MUST(MPI_Group_rank(odds, &r));
  CHECK(r == (rank % 2 ? rank / 2 : int(MPI_UNDEFINED)));
  MUST(MPI_Group_union(evens, odds, &all));
  int result;
  MUST(MPI_Group_compare(all, world, &result));
  CHECK(result == (size < 3 ? MPI_IDENT : MPI_SIMILAR));
  MUST(MPI_Group_intersection(evens, odds, &none));
  CHECK(none == MPI_GROUP_EMPTY);
  MUST(MPI_Group_difference(world, odds, &some));
  MUST(MPI_Group_compare(some, evens, &result));
  CHECK(result == (even_ranks.size() < 2 ? MPI_IDENT : MPI_SIMILAR));
  std::vector<int> translated(even_ranks.size());
  MUST(MPI_Group_translate_ranks(world, static_cast<int>(even_ranks.size()), even_ranks.data(),
                                 evens, translated.data()));
  for (size_t i = 0; i < translated.size(); ++i) CHECK(translated[i] == static_cast<int>(i));
  int null = MPI_PROC_NULL, back = 0;
  MUST(MPI_Group_translate_ranks(world, 1, &null, evens, &back));
  CHECK(back == MPI_PROC_NULL);
  int range[1][3] = {{size - 1, 0, -1}};
  MUST(MPI_Group_range_incl(world, 1, range, &other));
  MUST(MPI_Group_rank(other, &r));
  CHECK(r == size - 1 - rank);
  MPI_Comm comm, sub;
  MUST(MPI_Comm_create(MPI_COMM_WORLD, other, &comm));
  MUST(MPI_Comm_rank(comm, &r));
  CHECK(r == size - 1 - rank);
  MUST(MPI_Comm_free(&comm));
  if (rank % 2 == 0) {
    MUST(MPI_Comm_create_group(MPI_COMM_WORLD, evens, 3, &sub));
    int sum = 0;
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, sub));
    int expected = 0;
    for (int e : even_ranks) expected += e;
    CHECK(sum == expected);
    MUST(MPI_Comm_free(&sub));
  }
  for (MPI_Group* g : {&world, &evens, &odds, &all, &some, &other}) {
    MUST(MPI_Group_free(g));
    CHECK(*g == MPI_GROUP_NULL);
  }
}

static void names() {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  MUST(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(!strcmp(name, "MPI_COMM_WORLD") && length == 14);
  MUST(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(!strcmp(name, "MPI_COMM_SELF"));
  MPI_Comm copy;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MUST(MPI_Comm_get_name(copy, name, &length));
  CHECK(length == 0 && name[0] == 0);
  MUST(MPI_Comm_set_name(copy, "a name of its own"));
  MUST(MPI_Comm_get_name(copy, name, &length));
  CHECK(!strcmp(name, "a name of its own") && length == 17);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Type_get_name(MPI_INT, name, &length));
  CHECK(!strcmp(name, "MPI_INT"));
  MPI_Datatype type;
  MUST(MPI_Type_contiguous(2, MPI_INT, &type));
  MUST(MPI_Type_set_name(type, "pair"));
  MUST(MPI_Type_get_name(type, name, &length));
  CHECK(!strcmp(name, "pair") && length == 4);
  MUST(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  start(argc, argv);
  dup_and_split();
  freed_early();
  many();
  idup();
  groups();
  names();
  int flag = 0, inter = 1;
  MUST(MPI_Initialized(&flag));
  CHECK(flag);
  MUST(MPI_Finalized(&flag));
  CHECK(!flag);
  MUST(MPI_Comm_test_inter(MPI_COMM_WORLD, &inter));
  CHECK(!inter);
  return finish();
}
