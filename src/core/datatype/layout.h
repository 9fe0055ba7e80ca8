// The normalised program of a datatype: how to walk its memory in the order of the packed stream.
//   piece   bytes of one element that start at an offset: a plain run, or a node's worth
//   node    run       one run of bytes
//           loop      `count` times the same child, `stride` bytes apart
//           blocks    runs of equal length at listed displacements
//           runs      runs of any lengths at listed displacements
//           sequence  any children at listed displacements
// Neighbouring runs are merged, loops of runs that touch become runs, loops of loops that line up
// become one, regular lists become loops; the order of the stream is never changed.
// Nodes name one another by index and lists lie in one array of words: a layout can be copied to
// where another process reads it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace meantime {

struct Datatype;

struct LayoutNode {
  enum class Shape : std::uint32_t { run, loop, blocks, runs, sequence };
  Shape shape = Shape::run;
  std::uint32_t child = 0;  ///< loop: the node repeated
  MPI_Count bytes = 0;      ///< of the packed stream
  MPI_Count count = 1;      ///< of repetitions or list entries
  MPI_Count stride = 0;     ///< loop: from one to the next; blocks: length of each run
  /// Where the lists start in the layout's words. All but run and loop: `count` displacements; runs
  /// and sequence: then `count`+1 offsets in the stream; sequence: then `count` node indices.
  std::uint64_t list = 0;
};

class Layout {
 public:
  static std::shared_ptr<const Layout> of_run(MPI_Count bytes);
  static std::shared_ptr<const Layout> of_two_runs(MPI_Count first, MPI_Count displacement,
                                                   MPI_Count second);
  /// From how `type` was constructed; its children need no layout of their own. May throw
  /// std::bad_alloc.
  static std::shared_ptr<const Layout> of(const Datatype& type);

  MPI_Count bytes() const { return bytes_; }
  /// Where the root's memory starts, relative to the buffer.
  MPI_Count offset() const { return offset_; }
  const LayoutNode& root() const { return nodes_[root_]; }
  const LayoutNode& node(std::uint64_t index) const { return nodes_[index]; }

  const MPI_Count* displacements(const LayoutNode& node) const { return &words_[node.list]; }
  const MPI_Count* starts(const LayoutNode& node) const {
    return &words_[node.list + static_cast<std::uint64_t>(node.count)];
  }
  const LayoutNode& child(const LayoutNode& node, MPI_Count entry) const {
    return nodes_[static_cast<std::uint64_t>(
        words_[node.list + static_cast<std::uint64_t>(2 * node.count + 1 + entry)])];
  }

 private:
  friend class LayoutBuilder;
  MPI_Count bytes_ = 0;
  MPI_Count offset_ = 0;
  std::uint32_t root_ = 0;
  std::vector<LayoutNode> nodes_;
  std::vector<MPI_Count> words_;
};

}  // namespace meantime
