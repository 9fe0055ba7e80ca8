// Communicators of groups: with a tag by members alone, several at once, and from a group and a
// string without a parent; the error handler is inherited or given.
#include "check.h"

// A ring of messages through everybody.
static void ring(MPI_Comm comm) {
  int rank = 0, size = 0, got = -1;
  MUST(MPI_Comm_rank(comm, &rank));
  MUST(MPI_Comm_size(comm, &size));
  MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                    (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size, "%d", got);
}

static MPI_Group every(int step, int first) {
  MPI_Group world, part;
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
  int range[1][3] = {{check::size - 1 - (check::size - 1 - first) % step, first, -step}};
  MUST(MPI_Group_range_incl(world, 1, range, &part));
  MUST(MPI_Group_free(&world));
  return part;
}

static void by_members() {
  const int steps = check::size < 3 ? check::size : 3;
  MPI_Group group = every(steps, check::rank % steps);
  MPI_Comm one, two, three;
  // Nobody else takes part, the groups do not wait for each other, and come in descending order.
  MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &one));
  MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, 12, &two));
  MUST(MPI_Comm_create(MPI_COMM_WORLD, group, &three));
  ring(one);
  ring(two);
  ring(three);
  int result = -1, last = 0;
  MUST(MPI_Comm_compare(one, two, &result));
  CHECK(result == MPI_CONGRUENT, "%d", result);
  MUST(MPI_Comm_rank(one, &last));
  int size = 0;
  MUST(MPI_Comm_size(one, &size));
  CHECK(check::rank + steps < check::size ? last > 0 : last == 0, "%d of %d", last, size);
  MUST(MPI_Comm_free(&one));
  MUST(MPI_Comm_free(&two));
  MUST(MPI_Comm_free(&three));
  MUST(MPI_Group_free(&group));
}

static void by_some() {
  // Rank 0 is left out.
  if (check::size == 1) return;
  MPI_Group world, group;
  const int zero = 0;
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
  MUST(MPI_Group_excl(world, 1, &zero, &group));
  MPI_Comm comm;
  MUST(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
  CHECK((comm == MPI_COMM_NULL) == (check::rank == 0));
  if (comm != MPI_COMM_NULL) {
    ring(comm);
    MUST(MPI_Comm_free(&comm));
  }
  MUST(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
  CHECK(comm == MPI_COMM_NULL);
  MUST(MPI_Group_free(&group));
  MUST(MPI_Group_free(&world));
}

static void by_string() {
  MPI_Group group = every(1, 0);
  MPI_Comm one, two;
  MUST(MPI_Comm_create_from_group(group, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &one));
  MUST(MPI_Comm_create_from_group(group, "two", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &two));
  ring(one);
  ring(two);
  MPI_Errhandler handler;
  MUST(MPI_Comm_get_errhandler(one, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  MPI_Comm copy;
  MUST(MPI_Comm_dup(one, &copy));
  MUST(MPI_Comm_get_errhandler(copy, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  CHECK(check::error_class(MPI_Send(&copy, 1, MPI_INT, check::size, 0, copy)) == MPI_ERR_RANK);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&one));
  MUST(MPI_Comm_free(&two));
  MUST(MPI_Group_free(&group));
}

static void two_sides() {
  if (check::size == 1) return;
  MPI_Group sides[2] = {every(2, 0), every(2, 1)};
  const int side = check::rank % 2;
  MPI_Comm inter;
  MUST(MPI_Intercomm_create_from_groups(sides[side], 0, sides[1 - side], 0, "sides", MPI_INFO_NULL,
                                        MPI_ERRORS_ARE_FATAL, &inter));
  int remote = 0, own = 0, expected = 0;
  MUST(MPI_Comm_remote_size(inter, &remote));
  MUST(MPI_Group_size(sides[1 - side], &expected));
  CHECK(remote == expected, "%d", remote);
  MUST(MPI_Comm_rank(inter, &own));
  if (own == 0) {
    int got = -1;
    MUST(MPI_Sendrecv(&side, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    CHECK(got == 1 - side, "%d", got);
  }
  MUST(MPI_Comm_free(&inter));
  for (MPI_Group& group : sides) MUST(MPI_Group_free(&group));
}

static void by_type() {
  MPI_Comm node, none;
  MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -check::rank, MPI_INFO_NULL,
                           &node));
  int rank = -1, size = 0;
  MUST(MPI_Comm_rank(node, &rank));
  MUST(MPI_Comm_size(node, &size));
  const std::vector<int> here = check::ranks_of_own_node();
  CHECK(size == static_cast<int>(here.size()) && rank == here.back() - check::rank, "%d of %d",
        rank, size);
  ring(node);
  MUST(MPI_Comm_free(&node));
  MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none));
  CHECK(none == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  check::start(argc, argv);
  by_members();
  by_some();
  by_string();
  two_sides();
  by_type();
  return check::finish();
}
