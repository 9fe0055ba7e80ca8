// The forms of calls with large counts (MPI_..._c), with small ones: each does what the plain form
// does. What only they can do is in counts_beyond_int.cpp.
#include <numeric>

#include "check.h"

using namespace check;

namespace {

constexpr MPI_Count n = 5;

std::vector<int> numbers(int from, MPI_Count count = n) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), from);
  return result;
}

void wait(MPI_Request request) {
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}
/// Twice, as it is persistent.
void run(MPI_Request request) {
  for (int round = 0; round < 2; ++round) {
    MUST(MPI_Start(&request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MUST(MPI_Request_free(&request));
}

// --- messages

int right() {
  return (rank + 1) % size;
}
int left() {
  return (rank + size - 1) % size;
}

/// So many receives from the left are posted everywhere, then `send` sends to the right.
template <class Send>
void message(const char* what, int times, Send&& send) {
  const std::vector<int> out = numbers(rank * 100);
  std::vector<std::vector<int>> in(times, std::vector<int>(n, -1));
  std::vector<MPI_Request> requests(times);
  for (int i = 0; i < times; ++i)
    MUST(MPI_Irecv_c(in[i].data(), n, MPI_INT, left(), 3, MPI_COMM_WORLD, &requests[i]));
  char sign = 0, signal = 0;
  MUST(MPI_Sendrecv_c(&sign, 1, MPI_CHAR, left(), 4, &signal, 1, MPI_CHAR, right(), 4,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  send(out.data());
  for (int i = 0; i < times; ++i) {
    MPI_Status status;
    MPI_Count count = -1;
    MUST(MPI_Wait(&requests[i], &status));
    MUST(MPI_Get_count_c(&status, MPI_INT, &count));
    CHECK(count == n && in[i] == numbers(left() * 100), "%s: %d", what, in[i][0]);
  }
}

#define SENDS(capital, lower)                                                            \
  message("MPI_" #capital "_c", 1, [](const int* out) {                                  \
    MUST(MPI_##capital##_c(out, n, MPI_INT, right(), 3, MPI_COMM_WORLD));                \
  });                                                                                    \
  message("MPI_I" #lower "_c", 1, [](const int* out) {                                   \
    MPI_Request request;                                                                 \
    MUST(MPI_I##lower##_c(out, n, MPI_INT, right(), 3, MPI_COMM_WORLD, &request));       \
    wait(request);                                                                       \
  });                                                                                    \
  message("MPI_" #capital "_init_c", 2, [](const int* out) {                             \
    MPI_Request request;                                                                 \
    MUST(MPI_##capital##_init_c(out, n, MPI_INT, right(), 3, MPI_COMM_WORLD, &request)); \
    run(request);                                                                        \
  })

void sends() {
  static char room[4096];
  MUST(MPI_Buffer_attach_c(room, sizeof room));
  SENDS(Send, send);
  SENDS(Ssend, ssend);
  SENDS(Rsend, rsend);
  SENDS(Bsend, bsend);
  void* at = nullptr;
  MPI_Count bytes = 0;
  MUST(MPI_Buffer_detach_c(&at, &bytes));
  CHECK(at == room && bytes == sizeof room, "%lld", static_cast<long long>(bytes));
}

void receives() {
  const std::vector<int> out = numbers(rank * 100), wanted = numbers(left() * 100);
  MPI_Status status;
  MPI_Request request, send;
  MPI_Message found;
  const auto got = [&](std::vector<int>& in, const char* what) {
    CHECK(in == wanted, "%s: %d", what, in[0]);
    in.assign(n, -1);
  };
  const auto begin = [&] {
    MUST(MPI_Isend_c(out.data(), n, MPI_INT, right(), 5, MPI_COMM_WORLD, &send));
  };
  std::vector<int> in(n, -1);
  begin();
  MUST(MPI_Recv_c(in.data(), n, MPI_INT, left(), 5, MPI_COMM_WORLD, &status));
  wait(send);
  got(in, "MPI_Recv_c");
  MUST(MPI_Recv_init_c(in.data(), n, MPI_INT, left(), 5, MPI_COMM_WORLD, &request));
  begin();
  MUST(MPI_Start(&request));
  wait(request);
  wait(send);
  MUST(MPI_Request_free(&request));
  got(in, "MPI_Recv_init_c");
  begin();
  MUST(MPI_Mprobe(left(), 5, MPI_COMM_WORLD, &found, &status));
  MUST(MPI_Mrecv_c(in.data(), n, MPI_INT, &found, &status));
  wait(send);
  got(in, "MPI_Mrecv_c");
  begin();
  MUST(MPI_Mprobe(left(), 5, MPI_COMM_WORLD, &found, &status));
  MUST(MPI_Imrecv_c(in.data(), n, MPI_INT, &found, &request));
  wait(request);
  wait(send);
  got(in, "MPI_Imrecv_c");
  MUST(MPI_Sendrecv_c(out.data(), n, MPI_INT, right(), 6, in.data(), n, MPI_INT, left(), 6,
                      MPI_COMM_WORLD, &status));
  got(in, "MPI_Sendrecv_c");
  MUST(MPI_Isendrecv_c(out.data(), n, MPI_INT, right(), 6, in.data(), n, MPI_INT, left(), 6,
                       MPI_COMM_WORLD, &request));
  wait(request);
  got(in, "MPI_Isendrecv_c");
  in = out;
  MUST(MPI_Sendrecv_replace_c(in.data(), n, MPI_INT, right(), 6, left(), 6, MPI_COMM_WORLD,
                              &status));
  got(in, "MPI_Sendrecv_replace_c");
  in = out;
  MUST(MPI_Isendrecv_replace_c(in.data(), n, MPI_INT, right(), 6, left(), 6, MPI_COMM_WORLD,
                               &request));
  wait(request);
  got(in, "MPI_Isendrecv_replace_c");
}

void buffers() {
  static char room[1000];
  void* at = nullptr;
  MPI_Count bytes = 0;
  MPI_Comm comm;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MUST(MPI_Comm_attach_buffer_c(comm, room, sizeof room));
  MUST(MPI_Comm_detach_buffer_c(comm, &at, &bytes));
  CHECK(at == room && bytes == sizeof room);
  MUST(MPI_Comm_free(&comm));
  MPI_Session session;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Session_attach_buffer_c(session, room, sizeof room));
  MUST(MPI_Session_detach_buffer_c(session, &at, &bytes));
  CHECK(at == room && bytes == sizeof room);
  MUST(MPI_Session_finalize(&session));
}

// --- collectives: each form against what all ranks together must give

using Ints = std::vector<int>;

/// What a collective got, in its blocking, non-blocking and persistent form.
#define ALL_FORMS(name, lower, expected, ...)                                                  \
  do {                                                                                         \
    MPI_Request request;                                                                       \
    const Ints& all_forms_want = (expected);                                                   \
    in.assign(in.size(), -1);                                                                  \
    MUST(MPI_##name##_c(__VA_ARGS__));                                                         \
    CHECK(in == all_forms_want, "MPI_" #name "_c: %d, not %d", in[0], all_forms_want[0]);      \
    in.assign(in.size(), -1);                                                                  \
    MUST(MPI_I##lower##_c(__VA_ARGS__, &request));                                             \
    wait(request);                                                                             \
    CHECK(in == all_forms_want, "MPI_I" #lower "_c: %d, not %d", in[0], all_forms_want[0]);    \
    in.assign(in.size(), -1);                                                                  \
    MUST(MPI_##name##_init_c(__VA_ARGS__, MPI_INFO_NULL, &request));                           \
    run(request);                                                                              \
    CHECK(in == all_forms_want, "MPI_" #name "_init_c: %d, not %d", in[0], all_forms_want[0]); \
  } while (0)

/// The same where ranks other than the root get nothing.
Ints at_root(const Ints& expected) {
  return rank == 0 ? expected : Ints(expected.size(), -1);
}

void rooted() {
  const MPI_Comm world = MPI_COMM_WORLD;
  Ints in(n), from_root = numbers(7);
  // The root's buffer is its own, so that each form finds it as it was.
  int* const buffer = rank == 0 ? from_root.data() : in.data();
  ALL_FORMS(Bcast, bcast, rank == 0 ? Ints(n, -1) : from_root, buffer, n, MPI_INT, 0, world);

  const Ints own = numbers(rank * 100);
  Ints everybodys, sums(n, 0);
  std::vector<MPI_Count> counts(size, n);
  std::vector<MPI_Aint> places(size);
  for (int other = 0; other < size; ++other) {
    const Ints theirs = numbers(other * 100);
    everybodys.insert(everybodys.end(), theirs.begin(), theirs.end());
    places[other] = other * n;
    for (int i = 0; i < n; ++i) sums[i] += theirs[i];
  }
  in.resize(n * size);
  ALL_FORMS(Gather, gather, at_root(everybodys), own.data(), n, MPI_INT, in.data(), n, MPI_INT, 0,
            world);
  ALL_FORMS(Gatherv, gatherv, at_root(everybodys), own.data(), n, MPI_INT, in.data(), counts.data(),
            places.data(), MPI_INT, 0, world);
  in.resize(n);
  ALL_FORMS(Scatter, scatter, own, everybodys.data(), n, MPI_INT, in.data(), n, MPI_INT, 0, world);
  ALL_FORMS(Scatterv, scatterv, own, everybodys.data(), counts.data(), places.data(), MPI_INT,
            in.data(), n, MPI_INT, 0, world);
  ALL_FORMS(Reduce, reduce, at_root(sums), own.data(), in.data(), n, MPI_INT, MPI_SUM, 0, world);
  ALL_FORMS(Allreduce, allreduce, sums, own.data(), in.data(), n, MPI_INT, MPI_SUM, world);
  in.resize(n * size);
  ALL_FORMS(Allgather, allgather, everybodys, own.data(), n, MPI_INT, in.data(), n, MPI_INT, world);
  ALL_FORMS(Allgatherv, allgatherv, everybodys, own.data(), n, MPI_INT, in.data(), counts.data(),
            places.data(), MPI_INT, world);
}

void of_all() {
  const MPI_Comm world = MPI_COMM_WORLD;
  // To rank r: 1000 own rank + 10 r and so on.
  Ints out, in(2 * size), wanted;
  std::vector<MPI_Count> counts(size, 2);
  std::vector<MPI_Aint> places(size), bytes(size);
  const std::vector<MPI_Datatype> types(size, MPI_INT);
  for (int other = 0; other < size; ++other) {
    out.insert(out.end(), {1000 * rank + 10 * other, 1000 * rank + 10 * other + 1});
    wanted.insert(wanted.end(), {1000 * other + 10 * rank, 1000 * other + 10 * rank + 1});
    places[other] = 2 * other;
    bytes[other] = places[other] * MPI_Aint(sizeof(int));
  }
  ALL_FORMS(Alltoall, alltoall, wanted, out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, world);
  ALL_FORMS(Alltoallv, alltoallv, wanted, out.data(), counts.data(), places.data(), MPI_INT,
            in.data(), counts.data(), places.data(), MPI_INT, world);
  ALL_FORMS(Alltoallw, alltoallw, wanted, out.data(), counts.data(), bytes.data(), types.data(),
            in.data(), counts.data(), bytes.data(), types.data(), world);

  in.resize(n);
  const Ints own = numbers(rank);
  Ints scanned(n), before(n);
  for (int i = 0; i < n; ++i) {
    for (int other = 0; other <= rank; ++other) scanned[i] += other + i;
    before[i] = rank == 0 ? -1 : scanned[i] - (rank + i);
  }
  ALL_FORMS(Scan, scan, scanned, own.data(), in.data(), n, MPI_INT, MPI_SUM, world);
  ALL_FORMS(Exscan, exscan, before, own.data(), in.data(), n, MPI_INT, MPI_SUM, world);

  // Everybody gives the same, so each gets its part times the number of ranks.
  in.resize(2);
  out = numbers(1, 2 * size);
  const Ints part = {size * out[2 * rank], size * out[2 * rank + 1]};
  ALL_FORMS(Reduce_scatter, reduce_scatter, part, out.data(), in.data(), counts.data(), MPI_INT,
            MPI_SUM, world);
  ALL_FORMS(Reduce_scatter_block, reduce_scatter_block, part, out.data(), in.data(), 2, MPI_INT,
            MPI_SUM, world);
}

void of_neighbours() {
  MPI_Comm ring;
  const int periods[] = {1};
  MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &ring));
  const std::vector<MPI_Count> counts(2, 1);
  const std::vector<MPI_Aint> places = {0, 1}, bytes = {0, sizeof(int)};
  const std::vector<MPI_Datatype> types(2, MPI_INT);
  Ints in(2);
  const Ints neighbours = {left(), right()};
  ALL_FORMS(Neighbor_allgather, neighbor_allgather, neighbours, &rank, 1, MPI_INT, in.data(), 1,
            MPI_INT, ring);
  ALL_FORMS(Neighbor_allgatherv, neighbor_allgatherv, neighbours, &rank, 1, MPI_INT, in.data(),
            counts.data(), places.data(), MPI_INT, ring);
  // What goes to the left comes from the right.
  const Ints out = {10 * rank, 10 * rank + 1};
  const Ints wanted = {10 * left() + 1, 10 * right()};
  ALL_FORMS(Neighbor_alltoall, neighbor_alltoall, wanted, out.data(), 1, MPI_INT, in.data(), 1,
            MPI_INT, ring);
  ALL_FORMS(Neighbor_alltoallv, neighbor_alltoallv, wanted, out.data(), counts.data(),
            places.data(), MPI_INT, in.data(), counts.data(), places.data(), MPI_INT, ring);
  ALL_FORMS(Neighbor_alltoallw, neighbor_alltoallw, wanted, out.data(), counts.data(), bytes.data(),
            types.data(), in.data(), counts.data(), bytes.data(), types.data(), ring);
  MUST(MPI_Comm_free(&ring));
}

// --- datatypes

/// Both forms make the same type map: same size, bounds, and what is packed. Frees them.
void same(const char* what, MPI_Datatype plain, MPI_Datatype large) {
  MPI_Count sizes[2], lows[2], extents[2], true_lows[2], true_extents[2];
  std::vector<int> packed[2];
  const Ints memory = numbers(0, 400);
  MPI_Datatype types[] = {plain, large};
  for (int i = 0; i < 2; ++i) {
    MUST(MPI_Type_commit(&types[i]));
    MUST(MPI_Type_size_x(types[i], &sizes[i]));
    MUST(MPI_Type_get_extent_x(types[i], &lows[i], &extents[i]));
    MUST(MPI_Type_get_true_extent_x(types[i], &true_lows[i], &true_extents[i]));
    MPI_Count bytes = 0, end = 0;
    MUST(MPI_Pack_size_c(2, types[i], MPI_COMM_WORLD, &bytes));
    packed[i].assign(bytes / sizeof(int) + 1, -1);
    MUST(MPI_Pack_c(&memory[200], 2, types[i], packed[i].data(), bytes, &end, MPI_COMM_WORLD));
    CHECK(end == 2 * sizes[i], "%s: %lld", what, static_cast<long long>(end));
    Ints back(400, -1);
    MPI_Count position = 0;
    MUST(MPI_Unpack_c(packed[i].data(), end, &position, &back[200], 2, types[i], MPI_COMM_WORLD));
    long elements = 0;
    for (int at = 0; at < 400; ++at) {
      CHECK(back[at] == -1 || back[at] == at, "%s: %d at %d", what, back[at], at);
      elements += back[at] == -1 ? 0 : 1;
    }
    CHECK(elements * MPI_Count(sizeof(int)) == end, "%s: %ld elements", what, elements);
    MUST(MPI_Type_free(&types[i]));
  }
  CHECK(sizes[0] == sizes[1] && lows[0] == lows[1] && extents[0] == extents[1] &&
            true_lows[0] == true_lows[1] && true_extents[0] == true_extents[1],
        "%s: size %lld, %lld", what, static_cast<long long>(sizes[0]),
        static_cast<long long>(sizes[1]));
  CHECK(packed[0] == packed[1], "%s packs something else", what);
}

void datatypes() {
  MPI_Datatype plain, large;
  const int lengths[] = {2, 1}, places[] = {5, -3};
  const MPI_Count large_lengths[] = {2, 1}, large_places[] = {5, -3}, large_bytes[] = {20, -12};
  const MPI_Aint bytes[] = {20, -12};
  MUST(MPI_Type_contiguous(3, MPI_INT, &plain));
  MUST(MPI_Type_contiguous_c(3, MPI_INT, &large));
  same("contiguous", plain, large);
  MUST(MPI_Type_vector(3, 2, 4, MPI_INT, &plain));
  MUST(MPI_Type_vector_c(3, 2, 4, MPI_INT, &large));
  same("vector", plain, large);
  MUST(MPI_Type_create_hvector(3, 2, -16, MPI_INT, &plain));
  MUST(MPI_Type_create_hvector_c(3, 2, -16, MPI_INT, &large));
  same("hvector", plain, large);
  MUST(MPI_Type_indexed(2, lengths, places, MPI_INT, &plain));
  MUST(MPI_Type_indexed_c(2, large_lengths, large_places, MPI_INT, &large));
  same("indexed", plain, large);
  MUST(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &plain));
  MUST(MPI_Type_create_hindexed_c(2, large_lengths, large_bytes, MPI_INT, &large));
  same("hindexed", plain, large);
  MUST(MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &plain));
  MUST(MPI_Type_create_indexed_block_c(2, 2, large_places, MPI_INT, &large));
  same("indexed_block", plain, large);
  MUST(MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &plain));
  MUST(MPI_Type_create_hindexed_block_c(2, 2, large_bytes, MPI_INT, &large));
  same("hindexed_block", plain, large);
  const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT};
  MUST(MPI_Type_create_struct(2, lengths, bytes, types, &plain));
  MUST(MPI_Type_create_struct_c(2, large_lengths, large_bytes, types, &large));
  same("struct", plain, large);
  MUST(MPI_Type_create_resized(MPI_INT, -8, 24, &plain));
  MUST(MPI_Type_create_resized_c(MPI_INT, -8, 24, &large));
  same("resized", plain, large);
  const int sizes[] = {4, 5}, parts[] = {2, 3}, starts[] = {1, 2};
  const MPI_Count large_sizes[] = {4, 5}, large_parts[] = {2, 3}, large_starts[] = {1, 2};
  MUST(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &plain));
  MUST(MPI_Type_create_subarray_c(2, large_sizes, large_parts, large_starts, MPI_ORDER_C, MPI_INT,
                                  &large));
  same("subarray", plain, large);
  const int distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int distribution[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  const int processes[] = {2, 2};
  MUST(MPI_Type_create_darray(4, 1, 2, sizes, distributions, distribution, processes, MPI_ORDER_C,
                              MPI_INT, &plain));
  MUST(MPI_Type_create_darray_c(4, 1, 2, large_sizes, distributions, distribution, processes,
                                MPI_ORDER_C, MPI_INT, &large));
  same("darray", plain, large);

  char text[64];
  MPI_Count position = 0, needed = 0;
  const Ints own = numbers(3);
  Ints back(n, -1);
  MUST(MPI_Pack_external_size_c("external32", n, MPI_INT, &needed));
  CHECK(needed == 4 * n, "%lld", static_cast<long long>(needed));
  MUST(MPI_Pack_external_c("external32", own.data(), n, MPI_INT, text, sizeof text, &position));
  CHECK(position == needed && text[3] == 3);
  position = 0;
  MUST(MPI_Unpack_external_c("external32", text, needed, &position, back.data(), n, MPI_INT));
  CHECK(back == own);
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  sends();
  receives();
  buffers();
  rooted();
  of_all();
  of_neighbours();
  datatypes();
  return finish();
}
