// Intercommunicators: made of two halves over a bridge, duplicated (also without waiting), split,
// merged, compared; messages go to the other side only.
#include "check.h"

static int half_size(int side) {
  return side == 0 ? (check::size + 1) / 2 : check::size / 2;
}

// Every rank tells every rank of the other side who it is.
static void talk(MPI_Comm inter, int tag) {
  int own = -1, remote = 0;
  MUST(MPI_Comm_rank(inter, &own));
  MUST(MPI_Comm_remote_size(inter, &remote));
  std::vector<MPI_Request> requests(2 * remote);
  std::vector<int> said(remote, own), heard(remote, -1);
  for (int peer = 0; peer < remote; ++peer) {
    MUST(MPI_Irecv(&heard[peer], 1, MPI_INT, peer, tag, inter, &requests[peer]));
    MUST(MPI_Isend(&said[peer], 1, MPI_INT, peer, tag, inter, &requests[remote + peer]));
  }
  MUST(MPI_Waitall(2 * remote, requests.data(), MPI_STATUSES_IGNORE));
  for (int peer = 0; peer < remote; ++peer) CHECK(heard[peer] == peer, "heard %d", heard[peer]);
}

static int compare(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  MUST(MPI_Comm_compare(a, b, &result));
  return result;
}

static void look(MPI_Comm inter, int side) {
  int flag = 0, size = 0, remote = 0;
  MUST(MPI_Comm_test_inter(inter, &flag));
  MUST(MPI_Comm_size(inter, &size));
  MUST(MPI_Comm_remote_size(inter, &remote));
  CHECK(flag == 1 && size == half_size(side) && remote == half_size(1 - side), "%d %d", size,
        remote);
  MPI_Group group;
  MUST(MPI_Comm_remote_group(inter, &group));
  int members = 0, rank = 0;
  MUST(MPI_Group_size(group, &members));
  MUST(MPI_Group_rank(group, &rank));
  CHECK(members == remote && rank == MPI_UNDEFINED, "%d %d", members, rank);
  MUST(MPI_Group_free(&group));
}

static void merges(MPI_Comm inter, int side) {
  for (int high_side = 0; high_side < 3; ++high_side) {
    MPI_Comm merged;
    // 2: both say the same; then one group comes first, whole.
    MUST(MPI_Intercomm_merge(inter, high_side == 2 ? 1 : side == high_side, &merged));
    int own = 0, size = 0, rank = 0;
    MUST(MPI_Comm_rank(inter, &own));
    MUST(MPI_Comm_size(merged, &size));
    MUST(MPI_Comm_rank(merged, &rank));
    CHECK(size == check::size, "%d", size);
    if (high_side < 2) {
      CHECK(rank == own + (side == high_side ? half_size(1 - side) : 0), "%d", rank);
    } else {
      CHECK(rank == own || rank == own + half_size(1 - side), "%d", rank);
    }
    int next = -1;
    MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &next, 1, MPI_INT,
                      (rank + size - 1) % size, 1, merged, MPI_STATUS_IGNORE));
    CHECK(next == (rank + size - 1) % size, "%d", next);
    MUST(MPI_Comm_free(&merged));
  }
}

static void splits(MPI_Comm inter, int side) {
  // The last rank of side 0 has a color of its own: nobody of the other side has it.
  int own = 0;
  MUST(MPI_Comm_rank(inter, &own));
  const bool alone = side == 0 && own > 0 && own == half_size(0) - 1;
  MPI_Comm part;
  MUST(MPI_Comm_split(inter, alone ? 7 : 0, -own, &part));
  CHECK((part == MPI_COMM_NULL) == alone, "side %d rank %d", side, own);
  if (part != MPI_COMM_NULL) {
    int size = 0, rank = 0;
    MUST(MPI_Comm_size(part, &size));
    MUST(MPI_Comm_rank(part, &rank));
    CHECK(size == half_size(side) - (side == 0 && half_size(0) > 1 ? 1 : 0), "%d", size);
    CHECK(rank == size - 1 - own, "%d of %d", rank, size);
    talk(part, 4);
    MUST(MPI_Comm_free(&part));
  }
  // Only rank 0 of each side.
  MPI_Group group, first;
  const int zero = 0;
  MUST(MPI_Comm_group(inter, &group));
  MUST(MPI_Group_incl(group, 1, &zero, &first));
  MPI_Comm leaders;
  MUST(MPI_Comm_create(inter, first, &leaders));
  CHECK((leaders != MPI_COMM_NULL) == (own == 0), "rank %d", own);
  if (leaders != MPI_COMM_NULL) {
    talk(leaders, 5);
    MUST(MPI_Comm_free(&leaders));
  }
  MUST(MPI_Group_free(&first));
  MUST(MPI_Group_free(&group));
}

int main(int argc, char** argv) {
  check::start(argc, argv);
  if (check::size > 1) {
    const int side = check::rank % 2;
    MPI_Comm half, inter;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, side, check::rank, &half));
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &inter));
    look(inter, side);
    talk(inter, 1);
    merges(inter, side);
    splits(inter, side);

    MPI_Comm copy, later;
    MPI_Request request;
    MUST(MPI_Comm_dup(inter, &copy));
    CHECK(compare(inter, copy) == MPI_CONGRUENT);
    CHECK(compare(inter, inter) == MPI_IDENT);
    CHECK(compare(inter, half) == MPI_UNEQUAL);
    MUST(MPI_Comm_idup(copy, &later, &request));
    talk(copy, 2);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    look(later, side);
    talk(later, 2);
    MUST(MPI_Comm_free(&later));
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&inter));
    MUST(MPI_Comm_free(&half));
  }
  return check::finish();
}
