// Builds a Layout bottom-up; every function returns an already normalised piece. See layout.h.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "core/datatype/layout.h"

namespace meantime {

class LayoutBuilder {
 public:
  static constexpr std::uint32_t no_node = ~0U;
  struct Piece {
    MPI_Count offset = 0;
    MPI_Count bytes = 0;           ///< of the stream; 0: nothing at all
    std::uint32_t node = no_node;  ///< no_node: one run of `bytes`
  };

  static Piece run(MPI_Count offset, MPI_Count bytes) { return {offset, bytes, no_node}; }
  Piece loop(MPI_Count count, MPI_Count stride, Piece piece);
  Piece sequence(const std::vector<Piece>& pieces);
  /// One element of a datatype.
  Piece element(const Datatype& type);
  std::shared_ptr<const Layout> finish(Piece root);

 private:
  using Shape = LayoutNode::Shape;
  std::uint32_t run_node(MPI_Count bytes);
  std::uint32_t node_of(const Piece& piece);
  std::uint32_t add(const LayoutNode& node);
  void append(std::vector<Piece>& list, Piece piece);
  bool splice(std::vector<Piece>& list, const Piece& piece);
  Piece list_of_runs(const Piece* first, std::size_t count);
  Piece list_of_nodes(const std::vector<Piece>& pieces);

  std::shared_ptr<Layout> layout_ = std::make_shared<Layout>();
  std::unordered_map<MPI_Count, std::uint32_t> run_nodes_;
  std::unordered_map<const Datatype*, Piece> elements_;
};

}  // namespace meantime
