// MPI 5.0 chapter 8: virtual topologies.
#include "core/topology/topology.h"

#include <algorithm>

#include "api/generated/calls.h"
#include "core/comm/communicator.h"
#include "core/error/error.h"

namespace meantime::api {
namespace {

template <class Kind>
int find(const Communicator& comm, const char* name, const Kind** topology) {
  *topology = dynamic_cast<const Kind*>(comm.topology.get());
  return *topology != nullptr ? MPI_SUCCESS
                              : fail(MPI_ERR_TOPOLOGY, "the communicator has no {} topology", name);
}
int find_grid(const Communicator& comm, const Grid** grid) {
  return find(comm, "Cartesian", grid);
}
int find_graph(const Communicator& comm, const Graph** graph) {
  return find(comm, "graph", graph);
}
int find_neighbourhood(const Communicator& comm, const Neighbourhood** neighbourhood) {
  return find(comm, "distributed graph", neighbourhood);
}

int give(int error, Communicator* made, MPI_Comm* handle) {
  *handle = made != nullptr ? made->handle() : MPI_COMM_NULL;
  return error;
}

int check_room(int room, std::size_t needed, const char* what) {
  return room >= static_cast<int>(needed)
             ? MPI_SUCCESS
             : fail(MPI_ERR_ARG, "there is room for {} {}, not for {}", room, what, needed);
}

/// The first `nodes` ranks keep their rank, the others have no place.
int map_first(const Communicator& comm, long nodes, int error_class, int* newrank) {
  if (nodes > comm.size) {
    return fail(error_class, "the topology needs {} ranks, the communicator has {}", nodes,
                comm.size);
  }
  *newrank = comm.rank < nodes ? comm.rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

/// An array that has entries is there.
int check_array(const void* array, int count, const char* name) {
  return array != nullptr || count <= 0 ? MPI_SUCCESS
                                        : fail(MPI_ERR_ARG, "the array {} is NULL", name);
}

int check_neighbours(const Communicator& comm, int count, const int neighbours[]) {
  if (const int error = check_array(neighbours, count, "of ranks"); error != MPI_SUCCESS) {
    return error;
  }
  for (int index = 0; index < count; ++index) {
    if (neighbours[index] < 0 || neighbours[index] >= comm.size) {
      return fail(MPI_ERR_RANK, "there is no rank {} in a communicator of {}", neighbours[index],
                  comm.size);
    }
  }
  return MPI_SUCCESS;
}

bool is_list(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

void give_list(const std::vector<int>& list, int most, int out[]) {
  std::copy_n(list.begin(), std::min<std::size_t>(list.size(), most), out);
}

}  // namespace

int Topo_test(Communicator& comm, int* status) {
  *status = comm.topology != nullptr ? comm.topology->kind : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

// --- Grids

int Dims_create(int nnodes, int ndims, int dims[]) {
  return core::make_dims(nnodes, ndims, dims);
}

int Cart_create(Communicator& comm_old, int ndims, const int dims[], const int periods[],
                int reorder, MPI_Comm* comm_cart) {
  Communicator* made = nullptr;
  const int error = core::make_grid(comm_old, ndims, dims, periods, &made);
  return give(error, made, comm_cart);
}

int Cart_sub(Communicator& comm, const int remain_dims[], MPI_Comm* newcomm) {
  const Grid* grid = nullptr;
  Communicator* made = nullptr;
  int error = find_grid(comm, &grid);
  if (error == MPI_SUCCESS) {
    error = check_array(remain_dims, grid->dimensions(), "remain_dims");
  }
  if (error == MPI_SUCCESS) {
    error = core::make_subgrid(comm, remain_dims, &made);
  }
  return give(error, made, newcomm);
}

int Cartdim_get(Communicator& comm, int* ndims) {
  const Grid* grid = nullptr;
  if (const int error = find_grid(comm, &grid); error != MPI_SUCCESS) {
    return error;
  }
  *ndims = grid->dimensions();
  return MPI_SUCCESS;
}

int Cart_get(Communicator& comm, int maxdims, int dims[], int periods[], int coords[]) {
  const Grid* grid = nullptr;
  if (const int error = find_grid(comm, &grid); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_room(maxdims, grid->dims.size(), "dimensions");
      error != MPI_SUCCESS) {
    return error;
  }
  std::copy(grid->dims.begin(), grid->dims.end(), dims);
  std::copy(grid->periods.begin(), grid->periods.end(), periods);
  grid->coordinates(comm.rank, grid->dimensions(), coords);
  return MPI_SUCCESS;
}

int Cart_coords(Communicator& comm, int rank, int maxdims, int coords[]) {
  const Grid* grid = nullptr;
  if (const int error = find_grid(comm, &grid); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_room(maxdims, grid->dims.size(), "coordinates");
      error != MPI_SUCCESS) {
    return error;
  }
  grid->coordinates(rank, grid->dimensions(), coords);
  return MPI_SUCCESS;
}

int Cart_rank(Communicator& comm, const int coords[], int* rank) {
  const Grid* grid = nullptr;
  if (const int error = find_grid(comm, &grid); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_array(coords, grid->dimensions(), "coords"); error != MPI_SUCCESS) {
    return error;
  }
  *rank = grid->rank(coords);
  return *rank >= 0 ? MPI_SUCCESS : fail(MPI_ERR_ARG, "the coordinates are outside of the grid");
}

int Cart_shift(Communicator& comm, int direction, int disp, int* rank_source, int* rank_dest) {
  const Grid* grid = nullptr;
  if (const int error = find_grid(comm, &grid); error != MPI_SUCCESS) {
    return error;
  }
  if (direction < 0 || direction >= grid->dimensions()) {
    return fail(grid->dimensions() == 0 ? MPI_ERR_TOPOLOGY : MPI_ERR_ARG,
                "there is no direction {} in {} dimensions", direction, grid->dimensions());
  }
  *rank_source = grid->neighbour(comm.rank, direction, -disp);
  *rank_dest = grid->neighbour(comm.rank, direction, disp);
  return MPI_SUCCESS;
}

int Cart_map(Communicator& comm, int ndims, const int dims[], const int periods[], int* newrank) {
  long nodes = 1;
  for (int dimension = 0; dimension < ndims; ++dimension) {
    if (dims[dimension] < 0) {
      return fail(MPI_ERR_DIMS, "dimension {} is {}", dimension, dims[dimension]);
    }
    // 0 is a grid without places, in which nobody has a rank: MPICH's answer, and programs use it.
    nodes = std::min<long>(nodes * dims[dimension], long{1} << 31);
  }
  return map_first(comm, nodes, MPI_ERR_DIMS, newrank);
}

// --- Graphs

int Graph_create(Communicator& comm_old, int nnodes, const int indx[], const int edges[],
                 int reorder, MPI_Comm* comm_graph) {
  Communicator* made = nullptr;
  const int error = core::make_graph(comm_old, nnodes, indx, edges, &made);
  return give(error, made, comm_graph);
}

int Graphdims_get(Communicator& comm, int* nnodes, int* nedges) {
  const Graph* graph = nullptr;
  if (const int error = find_graph(comm, &graph); error != MPI_SUCCESS) {
    return error;
  }
  *nnodes = static_cast<int>(graph->index.size());
  *nedges = static_cast<int>(graph->edges.size());
  return MPI_SUCCESS;
}

int Graph_get(Communicator& comm, int maxindex, int maxedges, int indx[], int edges[]) {
  const Graph* graph = nullptr;
  if (const int error = find_graph(comm, &graph); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_room(maxindex, graph->index.size(), "nodes"); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_room(maxedges, graph->edges.size(), "edges"); error != MPI_SUCCESS) {
    return error;
  }
  std::copy(graph->index.begin(), graph->index.end(), indx);
  std::copy(graph->edges.begin(), graph->edges.end(), edges);
  return MPI_SUCCESS;
}

int Graph_neighbors_count(Communicator& comm, int rank, int* nneighbors) {
  const Graph* graph = nullptr;
  if (const int error = find_graph(comm, &graph); error != MPI_SUCCESS) {
    return error;
  }
  *nneighbors = graph->degree(rank);
  return MPI_SUCCESS;
}

int Graph_neighbors(Communicator& comm, int rank, int maxneighbors, int neighbors[]) {
  const Graph* graph = nullptr;
  if (const int error = find_graph(comm, &graph); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_room(maxneighbors, graph->degree(rank), "neighbours");
      error != MPI_SUCCESS) {
    return error;
  }
  std::copy_n(graph->edges.begin() + graph->first_edge(rank), graph->degree(rank), neighbors);
  return MPI_SUCCESS;
}

int Graph_map(Communicator& comm, int nnodes, const int indx[], const int edges[], int* newrank) {
  // First, because a wrong number of nodes is no place in `indx`.
  if (const int error = map_first(comm, nnodes, MPI_ERR_ARG, newrank); error != MPI_SUCCESS) {
    return error;
  }
  return check_array(edges, nnodes > 0 && indx != nullptr ? indx[nnodes - 1] : 0, "edges");
}

// --- Distributed graphs

int Dist_graph_create_adjacent(Communicator& comm_old, int indegree, const int sources[],
                               const int sourceweights[], int outdegree, const int destinations[],
                               const int destweights[], Info* info, int reorder,
                               MPI_Comm* comm_dist_graph) {
  *comm_dist_graph = MPI_COMM_NULL;
  if (const int error = check_neighbours(comm_old, indegree, sources); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_neighbours(comm_old, outdegree, destinations); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_array(sourceweights, indegree, "sourceweights");
      error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_array(destweights, outdegree, "destweights"); error != MPI_SUCCESS) {
    return error;
  }
  auto neighbourhood = std::make_unique<Neighbourhood>();
  neighbourhood->weighted = sourceweights != MPI_UNWEIGHTED;
  neighbourhood->sources.assign(sources, sources + indegree);
  neighbourhood->destinations.assign(destinations, destinations + outdegree);
  // Without weights all edges weigh the same.
  neighbourhood->source_weights.assign(indegree, 1);
  neighbourhood->destination_weights.assign(outdegree, 1);
  if (is_list(sourceweights)) {
    neighbourhood->source_weights.assign(sourceweights, sourceweights + indegree);
  }
  if (is_list(destweights)) {
    neighbourhood->destination_weights.assign(destweights, destweights + outdegree);
  }
  Communicator* made = nullptr;
  const int error = core::make_neighbourhood(comm_old, std::move(neighbourhood), info, &made);
  return give(error, made, comm_dist_graph);
}

int Dist_graph_create(Communicator& comm_old, int n, const int sources[], const int degrees[],
                      const int destinations[], const int weights[], Info* info, int reorder,
                      MPI_Comm* comm_dist_graph) {
  *comm_dist_graph = MPI_COMM_NULL;
  std::vector<core::Edge> edges;
  int next = 0;
  if (const int error = check_neighbours(comm_old, n, sources); error != MPI_SUCCESS) {
    return error;
  }
  for (int index = 0; index < n; ++index) {
    if (const int error = check_array(weights, degrees[index], "weights"); error != MPI_SUCCESS) {
      return error;
    }
    if (degrees[index] < 0) {
      return fail(MPI_ERR_ARG, "degree {} is {}", index, degrees[index]);
    }
    const int* const own = destinations == nullptr ? nullptr : destinations + next;
    if (const int error = check_neighbours(comm_old, degrees[index], own); error != MPI_SUCCESS) {
      return error;
    }
    for (int edge = 0; edge < degrees[index]; ++edge, ++next) {
      const int weight = is_list(weights) ? weights[next] : 1;
      edges.push_back({sources[index], destinations[next], weight});
    }
  }
  Communicator* made = nullptr;
  const int error =
      core::make_neighbourhood(comm_old, edges, weights != MPI_UNWEIGHTED, info, &made);
  return give(error, made, comm_dist_graph);
}

int Dist_graph_neighbors_count(Communicator& comm, int* indegree, int* outdegree, int* weighted) {
  const Neighbourhood* own = nullptr;
  if (const int error = find_neighbourhood(comm, &own); error != MPI_SUCCESS) {
    return error;
  }
  *indegree = static_cast<int>(own->sources.size());
  *outdegree = static_cast<int>(own->destinations.size());
  *weighted = own->weighted ? 1 : 0;
  return MPI_SUCCESS;
}

int Dist_graph_neighbors(Communicator& comm, int maxindegree, int sources[], int sourceweights[],
                         int maxoutdegree, int destinations[], int destweights[]) {
  const Neighbourhood* own = nullptr;
  if (const int error = find_neighbourhood(comm, &own); error != MPI_SUCCESS) {
    return error;
  }
  give_list(own->sources, maxindegree, sources);
  give_list(own->destinations, maxoutdegree, destinations);
  if (own->weighted && is_list(sourceweights)) {
    give_list(own->source_weights, maxindegree, sourceweights);
  }
  if (own->weighted && is_list(destweights)) {
    give_list(own->destination_weights, maxoutdegree, destweights);
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::api
