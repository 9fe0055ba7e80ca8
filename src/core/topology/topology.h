// Virtual topologies: who is whose neighbour in a communicator (MPI 5.0 chapter 8).
//   grid            MPI_Cart_create: dimensions, some of them rings; row-major, last one fastest
//   graph           MPI_Graph_create: every rank knows all edges
//   neighbourhood   MPI_Dist_graph_create: every rank knows its own edges only
// Ranks are never reordered: where a rank runs is the launcher's and the scheduler's business.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

namespace meantime {

struct Communicator;
struct Info;

struct Topology {
  explicit Topology(int kind) : kind(kind) {}
  virtual ~Topology() = default;
  virtual std::unique_ptr<Topology> copy() const = 0;

  const int kind;  ///< MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
};

struct Grid final : Topology {
  Grid() : Topology(MPI_CART) {}
  std::unique_ptr<Topology> copy() const override { return std::make_unique<Grid>(*this); }

  std::vector<int> dims;
  std::vector<int> periods;  ///< 1 = a ring

  int dimensions() const { return static_cast<int>(dims.size()); }
  void coordinates(int rank, int count, int coordinates[]) const;
  /// The rank at some coordinates; rings wrap around. -1 outside of the grid.
  int rank(const int coordinates[]) const;
  /// Who is `displacement` steps away from `rank` along one dimension; MPI_PROC_NULL beyond its
  /// end.
  int neighbour(int rank, int dimension, int displacement) const;
};

struct Graph final : Topology {
  Graph() : Topology(MPI_GRAPH) {}
  std::unique_ptr<Topology> copy() const override { return std::make_unique<Graph>(*this); }

  std::vector<int> index;  ///< as in MPI_Graph_create: where the edges of each rank end in `edges`
  std::vector<int> edges;

  int first_edge(int rank) const { return rank == 0 ? 0 : index[rank - 1]; }
  int degree(int rank) const { return index[rank] - first_edge(rank); }
};

struct Neighbourhood final : Topology {
  Neighbourhood() : Topology(MPI_DIST_GRAPH) {}
  std::unique_ptr<Topology> copy() const override { return std::make_unique<Neighbourhood>(*this); }

  std::vector<int> sources;
  std::vector<int> destinations;
  std::vector<int> source_weights;  ///< empty if not weighted
  std::vector<int> destination_weights;
  bool weighted = false;
};

namespace core {

/// The neighbours of the calling rank in the order in which neighbourhood collectives have them
/// (MPI 5.0 8.6): whom it receives from and whom it sends to; MPI_PROC_NULL at a grid's border.
/// MPI_ERR_TOPOLOGY if the communicator has no topology.
int neighbours(const Communicator& comm, std::vector<int>& sources, std::vector<int>& destinations);

/// MPI_Dims_create: fills in the zeros of `dims` so that they are as close to each other as
/// possible, in descending order, with all of `dims` together making `ranks`.
int make_dims(int ranks, int count, int dims[]);

// Each of these is collective over `comm`; `*made` is nullptr for a rank that is left over.
int make_grid(Communicator& comm, int count, const int dims[], const int periods[],
              Communicator** made);
int make_subgrid(Communicator& comm, const int remain[], Communicator** made);
int make_graph(Communicator& comm, int nodes, const int index[], const int edges[],
               Communicator** made);
/// Of whom the calling rank itself is a neighbour.
int make_neighbourhood(Communicator& comm, std::unique_ptr<Neighbourhood> neighbourhood,
                       const Info* hints, Communicator** made);

struct Edge {
  int source;
  int destination;
  int weight;
};
/// Of edges of any ranks.
int make_neighbourhood(Communicator& comm, const std::vector<Edge>& edges, bool weighted,
                       const Info* hints, Communicator** made);

}  // namespace core
}  // namespace meantime
