// Neighbourhood collectives on grids (rings of one and two ranks included; one whose ranks are
// dealt out, so that neighbours are on other nodes), a graph and a distributed graph, in all their
// forms.
#include "collective.h"

using namespace check;

static int value(int from, int slot, int index) {
  return from * 1000 + slot * 100 + index;
}

// Block k of the result must be what `sources[k]` sent into slot `slots[k]` (allgather: slot 0).
static void exchange(MPI_Comm comm, const std::vector<int>& sources, const std::vector<int>& slots,
                     int outdegree, const char* name) {
  int me;
  MPI_Comm_rank(comm, &me);
  const int in_degree = static_cast<int>(sources.size());
  for (Form form : {Form::blocking, Form::waited, Form::tested})
    for (int count : {1, 7, 500, 3000}) {
      std::vector<int> out(count * outdegree), in(count * in_degree, -1);
      for (int k = 0; k < outdegree; ++k)
        for (int i = 0; i < count; ++i) out[k * count + i] = value(me, k, i % 100);
      CALL(form, Neighbor_alltoall, neighbor_alltoall, out.data(), count, MPI_INT, in.data(), count,
           MPI_INT, comm);
      for (int k = 0; k < in_degree; ++k)
        for (int i = 0; i < count; i += 1 + count / 50)
          CHECK(in[k * count + i] ==
                    (sources[k] == MPI_PROC_NULL ? -1 : value(sources[k], slots[k], i % 100)),
                "alltoall on %s, block %d", name, k);
      // Uneven: the same, with room between the blocks.
      std::vector<int> counts(std::max(in_degree, outdegree), count), from(outdegree),
          to(in_degree);
      for (int k = 0; k < outdegree; ++k) from[k] = k * count;
      for (int k = 0; k < in_degree; ++k) to[k] = k * (count + 3);
      in.assign((count + 3) * in_degree, -1);
      CALL(form, Neighbor_alltoallv, neighbor_alltoallv, out.data(), counts.data(), from.data(),
           MPI_INT, in.data(), counts.data(), to.data(), MPI_INT, comm);
      for (int k = 0; k < in_degree; ++k)
        CHECK(in[to[k]] == (sources[k] == MPI_PROC_NULL ? -1 : value(sources[k], slots[k], 0)) &&
                  in[to[k] + count] == -1,
              "alltoallv on %s, block %d", name, k);
      std::vector<MPI_Aint> from_bytes(outdegree), to_bytes(in_degree);
      std::vector<MPI_Datatype> types(counts.size(), MPI_INT);
      for (int k = 0; k < outdegree; ++k)
        from_bytes[k] = from[k] * static_cast<MPI_Aint>(sizeof(int));
      for (int k = 0; k < in_degree; ++k) to_bytes[k] = to[k] * static_cast<MPI_Aint>(sizeof(int));
      in.assign((count + 3) * in_degree, -1);
      CALL(form, Neighbor_alltoallw, neighbor_alltoallw, out.data(), counts.data(),
           from_bytes.data(), types.data(), in.data(), counts.data(), to_bytes.data(), types.data(),
           comm);
      for (int k = 0; k < in_degree; ++k)
        CHECK(in[to[k]] == (sources[k] == MPI_PROC_NULL ? -1 : value(sources[k], slots[k], 0)),
              "alltoallw on %s, block %d", name, k);
      out.resize(count);
      for (int i = 0; i < count; ++i) out[i] = value(me, 0, i % 100);
      in.assign(count * in_degree, -1);
      CALL(form, Neighbor_allgather, neighbor_allgather, out.data(), count, MPI_INT, in.data(),
           count, MPI_INT, comm);
      for (int k = 0; k < in_degree; ++k)
        CHECK(in[k * count] == (sources[k] == MPI_PROC_NULL ? -1 : value(sources[k], 0, 0)),
              "allgather on %s, block %d", name, k);
    }
}

int main(int argc, char** argv) {
  start(argc, argv);
  // Grids: a ring, a line, and a ring that is one or two ranks wide in the other dimension.
  for (int shape = 0; shape < (size % 3 == 0 && size > 6 ? 4 : 3); ++shape) {
    const int width = shape < 2 ? 1 : shape == 3 ? 3 : size % 2 ? 1 : 2;
    const int dims[] = {size / width, width}, periods[] = {shape != 1, 1};
    const int dimensions = shape >= 2 ? 2 : 1;
    MPI_Comm ranks, grid;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, shape == 3 ? rank % 4 : 0, &ranks));
    MUST(MPI_Cart_create(ranks, dimensions, dims, periods, 0, &grid));
    MUST(MPI_Comm_free(&ranks));
    std::vector<int> sources, slots;
    for (int d = 0; d < dimensions; ++d) {
      int below, above;
      MUST(MPI_Cart_shift(grid, d, 1, &below, &above));
      sources.push_back(below);
      slots.push_back(2 * d + 1);  // what the one below sent upwards
      sources.push_back(above);
      slots.push_back(2 * d);
    }
    // MPICH takes both neighbours' messages of rings of one rank in the order of all dimensions.
    if (!(on_mpich() && shape == 2 && (width == 1 || size / width < 3)))
      exchange(grid, sources, slots, 2 * dimensions, "a grid");
    MUST(MPI_Comm_free(&grid));
  }
  // Everybody sends to its right and to its second right; a graph lists them at both ends.
  {
    const int left = (rank + size - 1) % size, left2 = (rank + 2 * size - 2) % size;
    const int right = (rank + 1) % size, right2 = (rank + 2) % size;
    const int sources[] = {left2, left}, destinations[] = {right, right2};
    MPI_Comm graph;
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations,
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    // With one rank both edges join the same two, and messages keep their order.
    if (size > 1) exchange(graph, {left2, left}, {1, 0}, 2, "a distributed graph");
    MUST(MPI_Comm_free(&graph));
  }
  if (size > 2) {
    std::vector<int> index(size), edges;
    for (int r = 0; r < size; ++r) {
      edges.push_back((r + size - 1) % size);
      edges.push_back((r + 1) % size);
      index[r] = 2 * (r + 1);
    }
    MPI_Comm graph;
    MUST(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &graph));
    exchange(graph, {(rank + size - 1) % size, (rank + 1) % size}, {1, 0}, 2, "a graph");
    MUST(MPI_Comm_free(&graph));
  }
  return finish();
}
