#include "coll/by_nodes/edges.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "coll/state.h"
#include "core/comm/nodes.h"
#include "core/topology/topology.h"

namespace meantime::coll::by_nodes {
namespace {

bool is_simple(const Grid& grid) {
  for (std::size_t dimension = 0; dimension < grid.dims.size(); ++dimension) {
    if (grid.periods[dimension] != 0 && grid.dims[dimension] <= 2) {
      return false;
    }
  }
  return true;
}

/// As MPI numbers them; MPI_PROC_NULL beyond an end.
std::vector<int> neighbours_of(int rank, const Grid& grid) {
  std::vector<int> all;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    all.push_back(grid.neighbour(rank, dimension, -1));
    all.push_back(grid.neighbour(rank, dimension, 1));
  }
  return all;
}

struct Neighbour {
  int node;
  int rank;
  bool operator<(const Neighbour& other) const {
    return std::pair(node, rank) < std::pair(other.node, other.rank);
  }
};

std::vector<Neighbour> in_order(int rank, const Grid& grid, const Nodes& nodes) {
  std::vector<Neighbour> all;
  for (const int other : neighbours_of(rank, grid)) {
    if (other != MPI_PROC_NULL) {
      all.push_back({nodes.node_of(other), other});
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::size_t place_in(const std::vector<int>& ranks, int rank) {
  return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

std::vector<Edges::Partner> find_partners(const Grid& grid, const Nodes& nodes) {
  const std::vector<int>& here = nodes.members[static_cast<std::size_t>(nodes.own)];
  std::map<int, Edges::Partner> by_node;
  std::vector<std::vector<Neighbour>> of_here;
  for (std::size_t rank = 0; rank < here.size(); ++rank) {
    of_here.push_back(in_order(here[rank], grid, nodes));
    for (std::size_t place = 0; place < of_here[rank].size(); ++place) {
      by_node[of_here[rank][place].node].given.push_back({rank, place});
    }
  }
  std::vector<Edges::Partner> partners;
  for (auto& [node, partner] : by_node) {
    partner.node = node;
    for (const int other : nodes.members[static_cast<std::size_t>(node)]) {
      for (const Neighbour& neighbour : in_order(other, grid, nodes)) {
        if (neighbour.node == nodes.own) {
          const std::size_t rank = place_in(here, neighbour.rank);
          const std::vector<Neighbour>& all = of_here[rank];
          const auto place = std::lower_bound(all.begin(), all.end(), Neighbour{node, other});
          partner.got.push_back({rank, static_cast<std::size_t>(place - all.begin())});
        }
      }
    }
    partners.push_back(std::move(partner));
  }
  return partners;
}

std::unique_ptr<const Edges> find_edges(const Communicator& comm) {
  const auto* const grid = dynamic_cast<const Grid*>(comm.topology.get());
  if (grid == nullptr || !is_simple(*grid)) {
    return nullptr;
  }
  auto edges = std::make_unique<Edges>();
  edges->most = 2 * grid->dims.size();
  const std::vector<int> own = neighbours_of(comm.rank, *grid);
  for (const Neighbour& neighbour : in_order(comm.rank, *grid, *comm.nodes)) {
    edges->own.push_back(static_cast<int>(place_in(own, neighbour.rank)));
  }
  if (comm.nodes->is_first()) {
    edges->partners = find_partners(*grid, *comm.nodes);
  }
  return edges;
}

}  // namespace

const Edges* edges_of(Communicator& comm) {
  State& state = state_of(comm);
  if (!std::exchange(state.knows_edges, true)) {
    state.edges = find_edges(comm);
  }
  return state.edges.get();
}

}  // namespace meantime::coll::by_nodes
