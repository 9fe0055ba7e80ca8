// Wrong arguments, one at a time: null arrays, buffers of collectives with a count for each rank,
// numbers out of range. Each call reports the class that MPICH gives. Where MPICH's ABI library
// crashes or looks at nothing, only Meantime is asked.
#include <limits>

#include "check.h"

using namespace check;

namespace {

MPI_Comm world = MPI_COMM_WORLD;

#define REPORTS(expected, ...)                                                               \
  do {                                                                                       \
    const int code = (__VA_ARGS__);                                                          \
    CHECK(error_class(code) == (expected), "%s: class %d", #__VA_ARGS__, error_class(code)); \
  } while (0)

#define NOT_ON_MPICH(expected, ...)   \
  do {                                \
    if (!on_mpich()) {                \
      REPORTS(expected, __VA_ARGS__); \
    }                                 \
  } while (0)

// Every rank makes the same mistake, so nobody waits for another.
void collectives() {
  std::vector<int> in(size, 1);
  std::vector<int> out(size, 0);
  std::vector<int> ones(size, 1);
  std::vector<int> places(size);
  std::vector<MPI_Datatype> types(size, MPI_INT);
  for (int r = 0; r < size; ++r) places[r] = r;
  int* const counts = ones.data();
  int* const at = places.data();
  const MPI_Datatype* const ints = types.data();
  MPI_Request request = MPI_REQUEST_NULL;

  for (void* wrong : {static_cast<void*>(nullptr), MPI_IN_PLACE}) {
    REPORTS(MPI_ERR_BUFFER, MPI_Allgatherv(&in[0], 1, MPI_INT, wrong, counts, at, MPI_INT, world));
    REPORTS(MPI_ERR_BUFFER,
            MPI_Alltoallv(&in[0], counts, at, MPI_INT, wrong, counts, at, MPI_INT, world));
    REPORTS(MPI_ERR_BUFFER,
            MPI_Alltoallw(&in[0], counts, at, ints, wrong, counts, at, ints, world));
    REPORTS(MPI_ERR_BUFFER,
            MPI_Iallgatherv(&in[0], 1, MPI_INT, wrong, counts, at, MPI_INT, world, &request));
    REPORTS(MPI_ERR_BUFFER, MPI_Ialltoallv(&in[0], counts, at, MPI_INT, wrong, counts, at, MPI_INT,
                                           world, &request));
    REPORTS(MPI_ERR_BUFFER, MPI_Alltoallv_init(&in[0], counts, at, MPI_INT, wrong, counts, at,
                                               MPI_INT, world, MPI_INFO_NULL, &request));
    NOT_ON_MPICH(MPI_ERR_BUFFER,
                 MPI_Reduce_scatter(&in[0], wrong, counts, MPI_INT, MPI_SUM, world));
    if (size == 1) {
      REPORTS(MPI_ERR_BUFFER,
              MPI_Gatherv(&in[0], 1, MPI_INT, wrong, counts, at, MPI_INT, 0, world));
      REPORTS(MPI_ERR_BUFFER,
              MPI_Scatterv(wrong, counts, at, MPI_INT, &out[0], 1, MPI_INT, 0, world));
    }
  }
  REPORTS(MPI_ERR_BUFFER,
          MPI_Alltoallv(nullptr, counts, at, MPI_INT, &out[0], counts, at, MPI_INT, world));
  REPORTS(MPI_ERR_BUFFER,
          MPI_Alltoallw(nullptr, counts, at, ints, &out[0], counts, at, ints, world));

  NOT_ON_MPICH(MPI_ERR_ARG,
               MPI_Allgatherv(&in[0], 1, MPI_INT, &out[0], counts, nullptr, MPI_INT, world));
  NOT_ON_MPICH(MPI_ERR_ARG, MPI_Alltoallv(&in[0], counts, nullptr, MPI_INT, &out[0], counts, at,
                                          MPI_INT, world));
  NOT_ON_MPICH(MPI_ERR_ARG, MPI_Alltoallv(&in[0], counts, at, MPI_INT, &out[0], counts, nullptr,
                                          MPI_INT, world));
  NOT_ON_MPICH(MPI_ERR_ARG,
               MPI_Alltoallw(&in[0], counts, at, nullptr, &out[0], counts, at, ints, world));
  NOT_ON_MPICH(MPI_ERR_ARG,
               MPI_Alltoallw(&in[0], counts, at, ints, &out[0], counts, at, nullptr, world));

  // Nothing is sent, so nothing has to be there.
  std::vector<int> zeros(size, 0);
  const int* const none = zeros.data();
  NOT_ON_MPICH(MPI_SUCCESS,  // which takes them for one buffer
               MPI_Alltoallv(nullptr, none, at, MPI_INT, nullptr, none, at, MPI_INT, world));
  NOT_ON_MPICH(MPI_SUCCESS, MPI_Alltoallv(nullptr, none, nullptr, MPI_INT, nullptr, none, nullptr,
                                          MPI_INT, world));
  MUST(MPI_Gatherv(&in[0], 1, MPI_INT, rank == 0 ? &out[0] : nullptr, rank == 0 ? counts : nullptr,
                   rank == 0 ? at : nullptr, MPI_INT, 0, world));
  MUST(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, &out[0], counts, at, MPI_INT, world));
}

void neighbourhoods() {
  MPI_Comm ring;
  const int periodic = 1;
  const int in[] = {1, 2};
  int out[2] = {};
  const int ones[] = {1, 1};
  const int places[] = {0, 1};
  MUST(MPI_Cart_create(world, 1, &size, &periodic, 0, &ring));
  MUST(MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN));
  NOT_ON_MPICH(MPI_ERR_BUFFER,
               MPI_Neighbor_allgatherv(&in[0], 1, MPI_INT, nullptr, ones, places, MPI_INT, ring));
  NOT_ON_MPICH(MPI_ERR_ARG,
               MPI_Neighbor_allgatherv(&in[0], 1, MPI_INT, out, ones, nullptr, MPI_INT, ring));
  NOT_ON_MPICH(MPI_ERR_BUFFER, MPI_Neighbor_alltoallv(MPI_IN_PLACE, ones, places, MPI_INT, out,
                                                      ones, places, MPI_INT, ring));
  NOT_ON_MPICH(MPI_ERR_ARG, MPI_Neighbor_alltoallv(in, ones, nullptr, MPI_INT, out, ones, places,
                                                   MPI_INT, ring));
  MUST(MPI_Neighbor_alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, ring));
  MUST(MPI_Comm_free(&ring));
}

void topologies() {
  MPI_Comm grid;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group group;
  MPI_Group part = MPI_GROUP_NULL;
  const int periodic = 0;
  const int zero = 0;
  const int one = 1;
  int number = 0;
  int other = 0;
  MUST(MPI_Cart_create(world, 1, &size, &periodic, 0, &grid));
  MUST(MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN));
  REPORTS(MPI_ERR_ARG, MPI_Cart_rank(grid, nullptr, &number));
  REPORTS(MPI_ERR_ARG, MPI_Cart_sub(grid, nullptr, &made));
  REPORTS(MPI_ERR_ARG, MPI_Cart_shift(grid, 1, 1, &number, &other));
  REPORTS(MPI_ERR_ARG, MPI_Cart_shift(grid, -1, 1, &number, &other));
  REPORTS(MPI_ERR_ARG, MPI_Cart_create(world, -1, &size, &periodic, 0, &made));
  const int more = size + 1;
  REPORTS(MPI_ERR_ARG, MPI_Cart_create(world, 1, &more, &periodic, 0, &made));
  MUST(MPI_Comm_free(&grid));
  REPORTS(MPI_ERR_ARG, MPI_Graph_create(world, 1, &one, nullptr, 0, &made));
  // A wrong number of edges, of which a look at the first says enough.
  const int most = std::numeric_limits<int>::max();
  const int nowhere = -5;
  REPORTS(MPI_ERR_ARG, MPI_Graph_create(world, 1, &most, &nowhere, 0, &made));
  MPI_Info info;
  int length = 4;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "key", "value"));
  REPORTS(MPI_ERR_ARG, MPI_Info_get_string(info, "key", &length, nullptr, &number));
  MUST(MPI_Info_free(&info));
  REPORTS(MPI_ERR_ARG, MPI_Dist_graph_create(world, 1, &zero, &one, nullptr, MPI_UNWEIGHTED,
                                             MPI_INFO_NULL, 0, &made));
  REPORTS(MPI_ERR_ARG,
          MPI_Dist_graph_create(world, 1, &zero, &one, &zero, nullptr, MPI_INFO_NULL, 0, &made));
  NOT_ON_MPICH(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(world, 1, &zero, nullptr, 1, &zero, &one,
                                                           MPI_INFO_NULL, 0, &made));
  MUST(MPI_Comm_group(world, &group));
  int range[1][3] = {{0, size, 1}};
  REPORTS(MPI_ERR_ARG, MPI_Group_range_incl(group, 1, range, &part));
  REPORTS(MPI_ERR_ARG, MPI_Group_range_excl(group, 1, range, &part));
  NOT_ON_MPICH(MPI_ERR_ARG, MPI_Group_range_incl(group, 1, nullptr, &part));
  MUST(MPI_Group_free(&group));
  // The leader of both sides is the same rank.
  MPI_Comm own;
  MUST(MPI_Comm_dup(MPI_COMM_SELF, &own));
  MUST(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
  REPORTS(MPI_ERR_RANK, MPI_Intercomm_create(own, 0, own, 0, 3, &made));
  MUST(MPI_Comm_free(&own));
}

void datatypes() {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int negative = -1;
  const int zero = 0;
  const int one = 1;
  const int block = MPI_DISTRIBUTE_BLOCK;
  const int standard = MPI_DISTRIBUTE_DFLT_DARG;
  const MPI_Aint place = 0;
  REPORTS(MPI_ERR_COUNT, MPI_Type_vector(1, -1, 1, MPI_INT, &made));
  REPORTS(MPI_ERR_COUNT, MPI_Type_create_hvector(1, -1, 4, MPI_INT, &made));
  REPORTS(MPI_ERR_COUNT, MPI_Type_indexed(1, &negative, &zero, MPI_INT, &made));
  REPORTS(MPI_ERR_COUNT, MPI_Type_create_hindexed(1, &negative, &place, MPI_INT, &made));
  REPORTS(MPI_ERR_COUNT, MPI_Type_create_indexed_block(1, -1, &zero, MPI_INT, &made));
  REPORTS(MPI_ERR_RANK, MPI_Type_create_darray(1, 1, 1, &one, &block, &standard, &one, MPI_ORDER_C,
                                               MPI_INT, &made));
  REPORTS(MPI_ERR_OTHER, MPI_Type_create_f90_integer(1000, &made));
  REPORTS(MPI_ERR_OTHER, MPI_Type_create_f90_real(1000, 5, &made));
}

void environment() {
  int made = 0;
  int indices = 0;
  int count = 0;
  MPI_Request none = MPI_REQUEST_NULL;
  REPORTS(MPI_ERR_OTHER, MPI_Add_error_code(-1, &made));
  REPORTS(MPI_ERR_OTHER, MPI_Remove_error_class(MPI_ERR_OTHER));
  REPORTS(MPI_ERR_OTHER, MPI_Remove_error_code(MPI_ERR_OTHER));
  REPORTS(MPI_ERR_OTHER, MPI_Remove_error_string(MPI_ERR_OTHER));
  REPORTS(MPI_ERR_ARG, MPI_Buffer_detach(nullptr, &made));
  char room[MPI_BSEND_OVERHEAD + 100];
  void* detached = nullptr;
  MUST(MPI_Buffer_attach(room, sizeof room));
  REPORTS(MPI_ERR_OTHER, MPI_Buffer_attach(room, sizeof room));
  MUST(MPI_Buffer_detach(&detached, &made));
  CHECK(detached == room && made == static_cast<int>(sizeof room));
  REPORTS(MPI_ERR_ARG, MPI_Waitsome(1, &none, &count, nullptr, MPI_STATUSES_IGNORE));
  REPORTS(MPI_ERR_ARG, MPI_Testsome(1, &none, &count, nullptr, MPI_STATUSES_IGNORE));
  MUST(MPI_Testsome(1, &none, &count, &indices, MPI_STATUSES_IGNORE));
  CHECK(count == MPI_UNDEFINED);
  int provided = 0;
  MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK(MPI_T_category_get_cvars(0, -1, &made) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_category_get_num_events(0, nullptr) == MPI_T_ERR_INVALID);
  MUST(MPI_T_finalize());
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));  // for calls on no communicator
  collectives();
  neighbourhoods();
  topologies();
  datatypes();
  environment();
  return finish();
}
