// Graph topologies: everybody's graph, and distributed ones made from either end of the edges.
#include "check.h"

#include <algorithm>

// A ring with a chord from 0 to everybody else.
static std::vector<int> neighbours_of(int node, int nodes) {
  std::vector<int> list;
  for (int other = 0; other < nodes; ++other) {
    const bool ring =
        nodes > 1 && (other == (node + 1) % nodes || other == (node + nodes - 1) % nodes);
    if (other != node && (ring || node == 0 || other == 0)) list.push_back(other);
  }
  return list;
}

static void graph(int nodes) {
  std::vector<int> index, edges;
  edges.reserve(1);  // MPICH takes no null pointer even for no edges
  for (int node = 0; node < nodes; ++node) {
    for (int other : neighbours_of(node, nodes)) edges.push_back(other);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm comm;
  MUST(MPI_Graph_create(MPI_COMM_WORLD, nodes, index.data(), edges.data(), 0, &comm));
  CHECK((comm == MPI_COMM_NULL) == (check::rank >= nodes));
  if (comm == MPI_COMM_NULL) return;
  int kind = 0, n = 0, e = 0;
  MUST(MPI_Topo_test(comm, &kind));
  CHECK(kind == MPI_GRAPH, "%d", kind);
  MUST(MPI_Graphdims_get(comm, &n, &e));
  CHECK(n == nodes && e == static_cast<int>(edges.size()), "%d %d", n, e);
  std::vector<int> index2(n), edges2(e + 1);
  MUST(MPI_Graph_get(comm, n, e, index2.data(), edges2.data()));
  edges2.resize(e);
  CHECK(index2 == index && edges2 == edges);
  for (int node = 0; node < nodes; ++node) {
    int count = -1;
    MUST(MPI_Graph_neighbors_count(comm, node, &count));
    std::vector<int> list(count);
    MUST(MPI_Graph_neighbors(comm, node, count, list.data()));
    CHECK(list == neighbours_of(node, nodes), "node %d", node);
  }
  MPI_Comm copy;
  MUST(MPI_Comm_dup(comm, &copy));
  MUST(MPI_Topo_test(copy, &kind));
  CHECK(kind == MPI_GRAPH, "%d", kind);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&comm));
}

struct Seen {
  std::vector<int> sources, source_weights, destinations, destination_weights;
};

static Seen look(MPI_Comm comm, bool weighted_expected) {
  int kind = 0, in = 0, out = 0, weighted = -1;
  MUST(MPI_Topo_test(comm, &kind));
  CHECK(kind == MPI_DIST_GRAPH, "%d", kind);
  MUST(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  CHECK((weighted != 0) == weighted_expected, "%d", weighted);
  Seen seen;
  seen.sources.resize(in + 1);
  seen.source_weights.resize(in + 1);
  seen.destinations.resize(out + 1);
  seen.destination_weights.resize(out + 1);
  MUST(MPI_Dist_graph_neighbors(
      comm, in, seen.sources.data(), weighted ? seen.source_weights.data() : MPI_UNWEIGHTED, out,
      seen.destinations.data(), weighted ? seen.destination_weights.data() : MPI_UNWEIGHTED));
  seen.sources.resize(in);
  seen.source_weights.resize(in);
  seen.destinations.resize(out);
  seen.destination_weights.resize(out);
  return seen;
}

static int weight(int from, int to) {
  return 100 * from + to;
}

static void adjacent() {
  const std::vector<int> list = neighbours_of(check::rank, check::size);
  std::vector<int> in, out;
  for (int other : list) {
    in.push_back(weight(other, check::rank));
    out.push_back(weight(check::rank, other));
  }
  const int degree = static_cast<int>(list.size());
  MPI_Comm comm;
  MUST(MPI_Dist_graph_create_adjacent(
      MPI_COMM_WORLD, degree, list.data(), degree ? in.data() : MPI_WEIGHTS_EMPTY, degree,
      list.data(), degree ? out.data() : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
  const Seen seen = look(comm, true);
  CHECK(seen.sources == list && seen.destinations == list);
  CHECK(seen.source_weights == in && seen.destination_weights == out);
  MUST(MPI_Comm_free(&comm));
}

// Each rank tells of the edges that begin at the rank after it, each edge twice as heavy again.
static void distributed(bool weights) {
  const int source = (check::rank + 1) % check::size;
  const std::vector<int> list = neighbours_of(source, check::size);
  std::vector<int> heavy;
  for (int other : list) heavy.push_back(weight(source, other));
  const int degree = static_cast<int>(list.size());
  MPI_Comm comm;
  MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, list.data(),
                             !weights  ? MPI_UNWEIGHTED
                             : !degree ? MPI_WEIGHTS_EMPTY
                                       : heavy.data(),
                             MPI_INFO_NULL, 0, &comm));
  Seen seen = look(comm, weights);
  for (size_t n = 0; weights && n < seen.sources.size(); ++n) {
    CHECK(seen.source_weights[n] == weight(seen.sources[n], check::rank), "%d",
          seen.source_weights[n]);
  }
  for (size_t n = 0; weights && n < seen.destinations.size(); ++n) {
    CHECK(seen.destination_weights[n] == weight(check::rank, seen.destinations[n]), "%d",
          seen.destination_weights[n]);
  }
  std::sort(seen.sources.begin(), seen.sources.end());
  std::sort(seen.destinations.begin(), seen.destinations.end());
  const std::vector<int> expected = neighbours_of(check::rank, check::size);
  CHECK(seen.sources == expected && seen.destinations == expected);
  MUST(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  check::start(argc, argv);
  int kind = 0;
  MUST(MPI_Topo_test(MPI_COMM_WORLD, &kind));
  CHECK(kind == MPI_UNDEFINED, "%d", kind);
  graph(check::size);
  if (check::size > 1) graph(check::size - 1);
  adjacent();
  distributed(true);
  distributed(false);
  return check::finish();
}
