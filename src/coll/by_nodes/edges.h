// Who is whose neighbour in a grid, seen from a node.
//   order     of a rank's neighbours: by their nodes, then by rank, so that those of one node are
//             together, and both ends of an edge find the same
//   partner   a node with a rank that is a neighbour of one of this node's; itself, too
// Ranks of a node are numbered from 0.
#pragma once

#include <cstddef>
#include <vector>

namespace meantime {
struct Communicator;
}

namespace meantime::coll::by_nodes {

struct Edges {
  /// One of this node's ranks, and the number of one of its neighbours in order.
  struct Place {
    std::size_t rank;
    std::size_t neighbour;
  };
  /// What goes between this node and that one, in the order in which it goes.
  struct Partner {
    int node;
    std::vector<Place> given;
    std::vector<Place> got;
  };

  std::size_t most = 0;           ///< neighbours of a rank
  std::vector<int> own;           ///< this rank's, in order: their numbers in MPI's (5.0, 8.6)
  std::vector<Partner> partners;  ///< by node; of a node's first rank
};

/// Found at the first call, and kept with the communicator. nullptr, at all members, if it is no
/// grid, or if two ranks are neighbours twice, in a ring of one or two.
const Edges* edges_of(Communicator& comm);

}  // namespace meantime::coll::by_nodes
