#include "core/datatype/layout_build.h"

#include <algorithm>
#include <map>

#include "core/datatype/construction.h"

namespace meantime {

namespace {

/// Lists up to this long are merged into the list around them: a struct in a struct.
constexpr MPI_Count splice_limit = 16;
/// Loops up to this long are written out inside a list.
constexpr MPI_Count unroll_limit = 4;

using Piece = LayoutBuilder::Piece;

bool same_kind(const Piece& a, const Piece& b) {
  return a.node == b.node && a.bytes == b.bytes;
}

/// Equal pieces at equal distances, which are a loop.
bool regular(const Piece* pieces, std::size_t count) {
  const MPI_Count stride = count > 1 ? pieces[1].offset - pieces[0].offset : 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (!same_kind(pieces[i], pieces[0]) || pieces[i].offset - pieces[i - 1].offset != stride) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::uint32_t LayoutBuilder::add(const LayoutNode& node) {
  layout_->nodes_.push_back(node);
  return static_cast<std::uint32_t>(layout_->nodes_.size() - 1);
}

std::uint32_t LayoutBuilder::run_node(MPI_Count bytes) {
  const auto [entry, is_new] = run_nodes_.try_emplace(bytes, 0);
  if (is_new) {
    LayoutNode node;
    node.bytes = bytes;
    entry->second = add(node);
  }
  return entry->second;
}

std::uint32_t LayoutBuilder::node_of(const Piece& piece) {
  return piece.node == no_node ? run_node(piece.bytes) : piece.node;
}

Piece LayoutBuilder::loop(MPI_Count count, MPI_Count stride, Piece piece) {
  if (count == 0 || piece.bytes == 0) {
    return {};
  }
  if (count == 1) {
    return piece;
  }
  if (piece.node == no_node && stride == piece.bytes) {
    return run(piece.offset, count * piece.bytes);
  }
  LayoutNode node;
  node.shape = Shape::loop;
  node.bytes = count * piece.bytes;
  node.count = count;
  node.stride = stride;
  node.child = node_of(piece);
  const LayoutNode& inner = layout_->nodes_[node.child];
  if (inner.shape == Shape::loop && stride == inner.count * inner.stride) {
    node.count *= inner.count;
    node.stride = inner.stride;
    node.child = inner.child;
  }
  return {piece.offset, node.bytes, add(node)};
}

void LayoutBuilder::append(std::vector<Piece>& list, Piece piece) {
  if (piece.bytes == 0) {
    return;
  }
  if (piece.node == no_node && !list.empty()) {
    Piece& last = list.back();
    if (last.node == no_node && last.offset + last.bytes == piece.offset) {
      last.bytes += piece.bytes;
      return;
    }
  }
  list.push_back(piece);
}

/// Writes a small list or loop out into the list around it, so that runs can merge across.
bool LayoutBuilder::splice(std::vector<Piece>& list, const Piece& piece) {
  if (piece.node == no_node) {
    return false;
  }
  const LayoutNode node = layout_->nodes_[piece.node];
  if (node.shape == Shape::loop) {
    const LayoutNode& child = layout_->nodes_[node.child];
    if (node.count > unroll_limit || child.shape != Shape::run) {
      return false;
    }
    for (MPI_Count i = 0; i < node.count; ++i) {
      append(list, run(piece.offset + i * node.stride, child.bytes));
    }
    return true;
  }
  if (node.count > splice_limit) {
    return false;
  }
  for (MPI_Count i = 0; i < node.count; ++i) {
    const MPI_Count offset = piece.offset + layout_->displacements(node)[i];
    if (node.shape == Shape::blocks) {
      append(list, run(offset, node.stride));
    } else if (node.shape == Shape::runs) {
      append(list, run(offset, layout_->starts(node)[i + 1] - layout_->starts(node)[i]));
    } else {
      const LayoutNode& child = layout_->child(node, i);
      const auto index = static_cast<std::uint32_t>(&child - layout_->nodes_.data());
      append(list, {offset, child.bytes, child.shape == Shape::run ? no_node : index});
    }
  }
  return true;
}

Piece LayoutBuilder::sequence(const std::vector<Piece>& pieces) {
  std::vector<Piece> list;
  list.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    append(list, piece);
  }
  if (list.empty()) {
    return {};
  }
  if (regular(list.data(), list.size())) {
    const MPI_Count stride = list.size() > 1 ? list[1].offset - list[0].offset : 0;
    return loop(static_cast<MPI_Count>(list.size()), stride, list[0]);
  }
  std::vector<Piece> spliced;
  spliced.reserve(list.size());
  for (const Piece& piece : list) {
    if (!splice(spliced, piece)) {
      append(spliced, piece);
    }
  }
  if (regular(spliced.data(), spliced.size())) {
    const MPI_Count stride = spliced.size() > 1 ? spliced[1].offset - spliced[0].offset : 0;
    return loop(static_cast<MPI_Count>(spliced.size()), stride, spliced[0]);
  }
  // Neighbouring runs become one list of runs; what is left is a list of nodes.
  std::vector<Piece> grouped;
  for (std::size_t i = 0; i < spliced.size();) {
    std::size_t end = i;
    while (end < spliced.size() && spliced[end].node == no_node) {
      ++end;
    }
    if (end - i >= 2) {
      grouped.push_back(list_of_runs(&spliced[i], end - i));
      i = end;
    } else {
      grouped.push_back(spliced[i++]);
    }
  }
  return grouped.size() == 1 ? grouped[0] : list_of_nodes(grouped);
}

Piece LayoutBuilder::list_of_runs(const Piece* first, std::size_t count) {
  const bool equal = std::all_of(first, first + count,
                                 [&](const Piece& piece) { return piece.bytes == first->bytes; });
  if (equal && regular(first, count)) {
    return loop(static_cast<MPI_Count>(count), first[1].offset - first[0].offset, first[0]);
  }
  LayoutNode node;
  node.shape = equal ? Shape::blocks : Shape::runs;
  node.count = static_cast<MPI_Count>(count);
  node.stride = equal ? first->bytes : 0;
  node.list = layout_->words_.size();
  for (std::size_t i = 0; i < count; ++i) {
    layout_->words_.push_back(first[i].offset - first->offset);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!equal) {
      layout_->words_.push_back(node.bytes);
    }
    node.bytes += first[i].bytes;
  }
  if (!equal) {
    layout_->words_.push_back(node.bytes);
  }
  return {first->offset, node.bytes, add(node)};
}

Piece LayoutBuilder::list_of_nodes(const std::vector<Piece>& pieces) {
  LayoutNode node;
  node.shape = Shape::sequence;
  node.count = static_cast<MPI_Count>(pieces.size());
  node.list = layout_->words_.size();
  for (const Piece& piece : pieces) {
    layout_->words_.push_back(piece.offset - pieces[0].offset);
  }
  for (const Piece& piece : pieces) {
    layout_->words_.push_back(node.bytes);
    node.bytes += piece.bytes;
  }
  layout_->words_.push_back(node.bytes);
  for (const Piece& piece : pieces) {
    layout_->words_.push_back(node_of(piece));
  }
  return {pieces[0].offset, node.bytes, add(node)};
}

Piece LayoutBuilder::element(const Datatype& type) {
  if (type.size == 0) {
    return {};
  }
  if (type.basic == Basic::pair && type.predefined) {
    const auto value = static_cast<MPI_Count>(size_of(type.pair_value));
    const MPI_Count index = type.size - value;
    return sequence({run(0, value), run(type.true_extent - index, index)});
  }
  if (type.predefined) {
    return run(0, type.size);
  }
  const auto known = elements_.find(&type);
  if (known != elements_.end()) {
    return known->second;
  }
  const Construction& construction = *type.construction;
  const auto block_piece = [&](const Block& block) {
    return block.length == 0 ? Piece{}
                             : loop(block.length, block.type->extent, element(*block.type));
  };
  Piece piece;
  MPI_Count stride = 0;
  if (construction.strided(&stride)) {
    const Block block = construction.block(0);
    piece = loop(construction.block_count, stride, block_piece(block));
    piece.offset += block.displacement;
  } else {
    std::map<std::pair<const Datatype*, MPI_Count>, Piece> known_blocks;
    std::vector<Piece> pieces;
    pieces.reserve(static_cast<std::size_t>(construction.block_count));
    for (MPI_Count i = 0; i < construction.block_count; ++i) {
      const Block block = construction.block(i);
      const auto [entry, is_new] = known_blocks.try_emplace({block.type, block.length});
      if (is_new) {
        entry->second = block_piece(block);
      }
      Piece placed = entry->second;
      placed.offset += block.displacement;
      pieces.push_back(placed);
    }
    piece = sequence(pieces);
  }
  elements_.emplace(&type, piece);
  return piece;
}

std::shared_ptr<const Layout> LayoutBuilder::finish(Piece root) {
  layout_->bytes_ = root.bytes;
  layout_->offset_ = root.offset;
  layout_->root_ = node_of(root);
  layout_->nodes_.shrink_to_fit();
  layout_->words_.shrink_to_fit();
  return std::move(layout_);
}

std::shared_ptr<const Layout> Layout::of_run(MPI_Count bytes) {
  return LayoutBuilder().finish(LayoutBuilder::run(0, bytes));
}

std::shared_ptr<const Layout> Layout::of_two_runs(MPI_Count first, MPI_Count displacement,
                                                  MPI_Count second) {
  LayoutBuilder builder;
  return builder.finish(
      builder.sequence({LayoutBuilder::run(0, first), LayoutBuilder::run(displacement, second)}));
}

std::shared_ptr<const Layout> Layout::of(const Datatype& type) {
  LayoutBuilder builder;
  return builder.finish(builder.element(type));
}

}  // namespace meantime
