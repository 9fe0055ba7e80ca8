#include "core/topology/topology.h"

#include "core/comm/communicator_make.h"
#include "core/comm/group.h"
#include "core/comm/invitation.h"
#include "core/comm/split_keys.h"
#include "core/error/error.h"

namespace meantime {

void Grid::coordinates(int rank, int count, int coordinates[]) const {
  for (int dimension = dimensions() - 1; dimension >= 0; --dimension) {
    if (dimension < count) {
      coordinates[dimension] = rank % dims[dimension];
    }
    rank /= dims[dimension];
  }
}

int Grid::rank(const int coordinates[]) const {
  int result = 0;
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    const int length = dims[dimension];
    int coordinate = coordinates[dimension];
    if (coordinate < 0 || coordinate >= length) {
      if (periods[dimension] == 0) {
        return -1;
      }
      coordinate %= length;
      coordinate += coordinate < 0 ? length : 0;
    }
    result = result * length + coordinate;
  }
  return result;
}

int Grid::neighbour(int rank, int dimension, int displacement) const {
  std::vector<int> place(dims.size());
  coordinates(rank, dimensions(), place.data());
  const long length = dims[dimension];
  long coordinate = static_cast<long>(place[dimension]) + displacement;
  if (coordinate < 0 || coordinate >= length) {
    if (periods[dimension] == 0) {
      return MPI_PROC_NULL;
    }
    coordinate %= length;
    coordinate += coordinate < 0 ? length : 0;
  }
  place[dimension] = static_cast<int>(coordinate);
  return this->rank(place.data());
}

namespace core {
namespace {

int send_ints(const std::vector<int>& numbers, int peer, Communicator& comm) {
  return send_bytes(numbers.data(), sizeof(int) * numbers.size(), peer, bridge_tag, comm);
}
int receive_ints(std::vector<int>& numbers, int peer, Communicator& comm) {
  return receive_bytes(numbers.data(), sizeof(int) * numbers.size(), peer, bridge_tag, comm);
}

std::vector<int> flat(const std::vector<Edge>& edges) {
  std::vector<int> numbers;
  numbers.reserve(3 * edges.size());
  for (const Edge& edge : edges) {
    numbers.insert(numbers.end(), {edge.source, edge.destination, edge.weight});
  }
  return numbers;
}

/// The edges that end or begin at one rank, in the order in which rank 0 heard of them.
struct EdgesOfRank {
  std::vector<int> in;  ///< neighbour, weight, neighbour, weight …
  std::vector<int> out;
};

void sort_in(const std::vector<int>& numbers, std::vector<EdgesOfRank>& all) {
  for (std::size_t place = 0; place + 2 < numbers.size(); place += 3) {
    const int source = numbers[place];
    const int destination = numbers[place + 1];
    const int weight = numbers[place + 2];
    all[source].out.insert(all[source].out.end(), {destination, weight});
    all[destination].in.insert(all[destination].in.end(), {source, weight});
  }
}

/// Rank 0 hears everybody's edges, then tells everybody those that begin or end there.
int share_edges(Communicator& comm, const std::vector<Edge>& edges, EdgesOfRank& own) {
  const SplitKey size{static_cast<int>(edges.size()), 0};
  if (comm.rank != 0) {
    int error = send_bytes(&size, sizeof size, 0, split_key_tag, comm);
    if (error == MPI_SUCCESS && size.color > 0) {
      error = send_ints(flat(edges), 0, comm);
    }
    SplitKey degrees{};
    if (error == MPI_SUCCESS) {
      error = receive_bytes(&degrees, sizeof degrees, 0, answer_tag, comm);
    }
    std::vector<int> lists(2 * (degrees.color + degrees.key));
    if (error == MPI_SUCCESS) {
      error = receive_ints(lists, 0, comm);
    }
    own.in.assign(lists.begin(), lists.begin() + 2 * degrees.color);
    own.out.assign(lists.begin() + 2 * degrees.color, lists.end());
    return error;
  }
  std::vector<SplitKey> sizes;
  if (const int error = gather_split_keys(comm, size, sizes); error != MPI_SUCCESS) {
    return error;
  }
  std::vector<EdgesOfRank> all(comm.size);
  sort_in(flat(edges), all);
  for (int peer = 1; peer < comm.size; ++peer) {
    std::vector<int> numbers(3 * static_cast<std::size_t>(sizes[peer].color));
    if (!numbers.empty()) {
      if (const int error = receive_ints(numbers, peer, comm); error != MPI_SUCCESS) {
        return error;
      }
    }
    sort_in(numbers, all);
  }
  for (int peer = 1; peer < comm.size; ++peer) {
    const SplitKey degrees{static_cast<int>(all[peer].in.size() / 2),
                           static_cast<int>(all[peer].out.size() / 2)};
    std::vector<int> lists = all[peer].in;
    lists.insert(lists.end(), all[peer].out.begin(), all[peer].out.end());
    int error = send_bytes(&degrees, sizeof degrees, peer, answer_tag, comm);
    if (error == MPI_SUCCESS) {
      error = send_ints(lists, peer, comm);
    }
    if (error != MPI_SUCCESS) {
      return error;
    }
  }
  own = std::move(all[0]);
  return MPI_SUCCESS;
}

void unzip(const std::vector<int>& pairs, std::vector<int>& first, std::vector<int>& second) {
  for (std::size_t place = 0; place + 1 < pairs.size(); place += 2) {
    first.push_back(pairs[place]);
    second.push_back(pairs[place + 1]);
  }
}

}  // namespace

int neighbours(const Communicator& comm, std::vector<int>& sources,
               std::vector<int>& destinations) {
  sources.clear();
  destinations.clear();
  if (const auto* grid = dynamic_cast<const Grid*>(comm.topology.get()); grid != nullptr) {
    for (int dimension = 0; dimension < grid->dimensions(); ++dimension) {
      sources.push_back(grid->neighbour(comm.rank, dimension, -1));
      sources.push_back(grid->neighbour(comm.rank, dimension, 1));
    }
    destinations = sources;
  } else if (const auto* graph = dynamic_cast<const Graph*>(comm.topology.get());
             graph != nullptr) {
    const auto first = graph->edges.begin() + graph->first_edge(comm.rank);
    sources.assign(first, first + graph->degree(comm.rank));
    destinations = sources;
  } else if (const auto* own = dynamic_cast<const Neighbourhood*>(comm.topology.get());
             own != nullptr) {
    sources = own->sources;
    destinations = own->destinations;
  } else {
    return fail(MPI_ERR_TOPOLOGY, "the communicator has no topology");
  }
  return MPI_SUCCESS;
}

int make_grid(Communicator& comm, int count, const int dims[], const int periods[],
              Communicator** made) {
  *made = nullptr;
  auto grid = std::make_unique<Grid>();
  long ranks = 1;
  for (int dimension = 0; dimension < count; ++dimension) {
    if (dims[dimension] <= 0) {
      return fail(MPI_ERR_DIMS, "dimension {} is {}", dimension, dims[dimension]);
    }
    ranks *= dims[dimension];
    if (ranks > comm.size) {
      return fail(MPI_ERR_ARG, "the grid needs more than the communicator's {} ranks", comm.size);
    }
    grid->dims.push_back(dims[dimension]);
    grid->periods.push_back(periods[dimension] != 0 ? 1 : 0);
  }
  const int error = create_first(comm, static_cast<int>(ranks), made);
  if (*made != nullptr) {
    (*made)->topology = std::move(grid);
  }
  return error;
}

int make_subgrid(Communicator& comm, const int remain[], Communicator** made) {
  *made = nullptr;
  const auto& grid = dynamic_cast<const Grid&>(*comm.topology);
  auto sub = std::make_unique<Grid>();
  std::vector<int> place(grid.dims.size());
  grid.coordinates(comm.rank, grid.dimensions(), place.data());
  int color = 0;
  int key = 0;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    int& number = remain[dimension] != 0 ? key : color;
    number = number * grid.dims[dimension] + place[dimension];
    if (remain[dimension] != 0) {
      sub->dims.push_back(grid.dims[dimension]);
      sub->periods.push_back(grid.periods[dimension]);
    }
  }
  const int error = split(comm, color, key, made);
  if (*made != nullptr) {
    (*made)->topology = std::move(sub);
  }
  return error;
}

int make_graph(Communicator& comm, int nodes, const int index[], const int edges[],
               Communicator** made) {
  *made = nullptr;
  if (nodes < 0 || nodes > comm.size) {
    return fail(MPI_ERR_ARG, "a graph of {} nodes needs a communicator of as many ranks, not {}",
                nodes, comm.size);
  }
  if (nodes == 0) {
    return MPI_SUCCESS;
  }
  auto graph = std::make_unique<Graph>();
  graph->index.assign(index, index + nodes);
  for (int node = 0; node < nodes; ++node) {
    if (graph->degree(node) < 0) {
      return fail(MPI_ERR_ARG, "index[{}] is {}, less than the one before", node, index[node]);
    }
  }
  if (edges == nullptr && index[nodes - 1] > 0) {
    return fail(MPI_ERR_ARG, "the array of edges is a null pointer");
  }
  // Each is looked at before the next is read: of a wrong number of them, the array has fewer.
  for (int edge = 0; edge < index[nodes - 1]; ++edge) {
    if (edges[edge] < 0 || edges[edge] >= nodes) {
      return fail(MPI_ERR_ARG, "an edge leads to node {} of {}", edges[edge], nodes);
    }
    graph->edges.push_back(edges[edge]);
  }
  const int error = create_first(comm, nodes, made);
  if (*made != nullptr) {
    (*made)->topology = std::move(graph);
  }
  return error;
}

int make_neighbourhood(Communicator& comm, std::unique_ptr<Neighbourhood> neighbourhood,
                       const Info* hints, Communicator** made) {
  const int error = create_first(comm, comm.size, made);
  if (*made != nullptr) {
    set_hints(**made, hints);
    (*made)->topology = std::move(neighbourhood);
  }
  return error;
}

int make_neighbourhood(Communicator& comm, const std::vector<Edge>& edges, bool weighted,
                       const Info* hints, Communicator** made) {
  EdgesOfRank own;
  if (const int error = share_edges(comm, edges, own); error != MPI_SUCCESS) {
    return error;
  }
  auto neighbourhood = std::make_unique<Neighbourhood>();
  neighbourhood->weighted = weighted;
  unzip(own.in, neighbourhood->sources, neighbourhood->source_weights);
  unzip(own.out, neighbourhood->destinations, neighbourhood->destination_weights);
  return make_neighbourhood(comm, std::move(neighbourhood), hints, made);
}

}  // namespace core
}  // namespace meantime
