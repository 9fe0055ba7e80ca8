// Packing and unpacking: the layout's program, run over memory.
//   whole_*  moves complete nodes: loops of move.h for the two innermost levels, no checks inside
//   part     moves a range of a node's stream: cut pieces at both ends, whole ones between
#include <algorithm>

#include "core/datatype/datatype.h"
#include "core/datatype/layout.h"
#include "core/datatype/move.h"

namespace meantime {

namespace {

using Shape = LayoutNode::Shape;

template <Direction direction>
struct Mover {
  const Layout& layout;

  void whole(const LayoutNode& node, char* memory, char* packed) const {
    switch (node.shape) {
      case Shape::run:
        move<direction>(memory, packed, node.bytes);
        return;
      case Shape::loop:
        whole_loop(layout.node(node.child), node.count, node.stride, memory, packed);
        return;
      default:
        whole_entries(node, 0, node.count, memory, packed);
    }
  }

  void whole_loop(const LayoutNode& child, MPI_Count count, MPI_Count stride, char* memory,
                  char* packed) const {
    switch (child.shape) {
      case Shape::run:
        move_grid<direction>(memory, packed, 1, 0, count, stride, child.bytes);
        return;
      case Shape::loop: {
        const LayoutNode& grandchild = layout.node(child.child);
        if (grandchild.shape == Shape::run) {
          move_grid<direction>(memory, packed, count, stride, child.count, child.stride,
                               grandchild.bytes);
          return;
        }
        break;
      }
      case Shape::blocks:
        move_blocks<direction>(memory, packed, count, stride, layout.displacements(child),
                               child.count, child.stride);
        return;
      case Shape::runs:
        move_runs<direction>(memory, packed, count, stride, layout.displacements(child),
                             layout.starts(child), child.count);
        return;
      case Shape::sequence:
        break;
    }
    for (MPI_Count i = 0; i < count; ++i) {
      whole(child, memory + i * stride, packed + i * child.bytes);
    }
  }

  /// List entries [first, last); `packed` is where entry `first` goes.
  void whole_entries(const LayoutNode& node, MPI_Count first, MPI_Count last, char* memory,
                     char* packed) const {
    const MPI_Count* displacements = layout.displacements(node);
    if (node.shape == Shape::blocks) {
      move_blocks<direction>(memory, packed, 1, 0, displacements + first, last - first,
                             node.stride);
    } else if (node.shape == Shape::runs) {
      move_runs<direction>(memory, packed, 1, 0, displacements + first, layout.starts(node) + first,
                           last - first);
    } else {
      const MPI_Count* starts = layout.starts(node);
      for (MPI_Count i = first; i < last; ++i) {
        whole(layout.child(node, i), memory + displacements[i], packed + starts[i] - starts[first]);
      }
    }
  }

  /// Stream bytes [skip, skip + bytes) of the node; 0 < bytes <= node.bytes - skip.
  void part(const LayoutNode& node, char* memory, MPI_Count skip, char* packed,
            MPI_Count bytes) const {
    if (bytes == node.bytes) {
      whole(node, memory, packed);
    } else if (node.shape == Shape::run) {
      move<direction>(memory + skip, packed, bytes);
    } else if (node.shape == Shape::loop) {
      part_loop(layout.node(node.child), node.stride, memory, skip, packed, bytes);
    } else {
      part_list(node, memory, skip, packed, bytes);
    }
  }

  void part_loop(const LayoutNode& child, MPI_Count stride, char* memory, MPI_Count skip,
                 char* packed, MPI_Count bytes) const {
    memory += skip / child.bytes * stride;
    skip %= child.bytes;
    if (skip != 0) {
      const MPI_Count head = std::min(child.bytes - skip, bytes);
      part(child, memory, skip, packed, head);
      memory += stride;
      packed += head;
      bytes -= head;
    }
    const MPI_Count full = bytes / child.bytes;
    if (full != 0) {
      whole_loop(child, full, stride, memory, packed);
      memory += full * stride;
      packed += full * child.bytes;
      bytes -= full * child.bytes;
    }
    if (bytes != 0) {
      part(child, memory, 0, packed, bytes);
    }
  }

  MPI_Count start_of(const LayoutNode& node, MPI_Count entry) const {
    return node.shape == Shape::blocks ? entry * node.stride : layout.starts(node)[entry];
  }

  /// The entry that holds byte `position` of the stream; node.count at its end.
  MPI_Count entry_at(const LayoutNode& node, MPI_Count position) const {
    if (node.shape == Shape::blocks) {
      return position / node.stride;
    }
    const MPI_Count* starts = layout.starts(node);
    return std::upper_bound(starts, starts + node.count + 1, position) - starts - 1;
  }

  void part_entry(const LayoutNode& node, MPI_Count entry, char* memory, MPI_Count skip,
                  char* packed, MPI_Count bytes) const {
    char* const place = memory + layout.displacements(node)[entry];
    if (node.shape == Shape::sequence) {
      part(layout.child(node, entry), place, skip, packed, bytes);
    } else {
      move<direction>(place + skip, packed, bytes);
    }
  }

  void part_list(const LayoutNode& node, char* memory, MPI_Count skip, char* packed,
                 MPI_Count bytes) const {
    const MPI_Count end = skip + bytes;
    MPI_Count first = entry_at(node, skip);
    const MPI_Count into_first = skip - start_of(node, first);
    if (into_first != 0) {
      const MPI_Count head = std::min(start_of(node, first + 1), end) - skip;
      part_entry(node, first, memory, into_first, packed, head);
      packed += head;
      ++first;
    }
    if (start_of(node, first) >= end) {
      return;
    }
    const MPI_Count last = entry_at(node, end);
    if (last > first) {
      whole_entries(node, first, last, memory, packed);
      packed += start_of(node, last) - start_of(node, first);
    }
    if (start_of(node, last) < end) {
      part_entry(node, last, memory, 0, packed, end - start_of(node, last));
    }
  }
};

/// `count` elements are a loop around the layout's root; it may line up with the root's own loop.
template <Direction direction>
std::size_t transfer(char* buffer, MPI_Count count, const Datatype& type, std::size_t offset,
                     char* packed, std::size_t wanted) {
  const MPI_Count total = count * type.size;
  const auto skip = static_cast<MPI_Count>(offset);
  if (skip >= total) {
    return 0;
  }
  const MPI_Count bytes = wanted < static_cast<std::size_t>(total - skip)
                              ? static_cast<MPI_Count>(wanted)
                              : total - skip;
  if (bytes == 0) {
    return 0;
  }
  if (type.contiguous) {
    move<direction>(buffer + type.true_lb + skip, packed, bytes);
    return static_cast<std::size_t>(bytes);
  }
  const Layout& layout = *type.layout;
  const Mover<direction> mover{layout};
  const LayoutNode& root = layout.root();
  char* const memory = buffer + layout.offset();
  const bool everything = bytes == total;  // then skip is 0
  if (count == 1) {
    everything ? mover.whole(root, memory, packed) : mover.part(root, memory, skip, packed, bytes);
  } else if (root.shape == Shape::loop && type.extent == root.count * root.stride) {
    mover.part_loop(layout.node(root.child), root.stride, memory, skip, packed, bytes);
  } else if (everything) {
    mover.whole_loop(root, count, type.extent, memory, packed);
  } else {
    mover.part_loop(root, type.extent, memory, skip, packed, bytes);
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

std::size_t pack(const void* buffer, MPI_Count count, const Datatype& type, std::size_t offset,
                 void* packed, std::size_t bytes) {
  return transfer<Direction::pack>(static_cast<char*>(const_cast<void*>(buffer)), count, type,
                                   offset, static_cast<char*>(packed), bytes);
}

std::size_t unpack(void* buffer, MPI_Count count, const Datatype& type, std::size_t offset,
                   const void* packed, std::size_t bytes) {
  return transfer<Direction::unpack>(static_cast<char*>(buffer), count, type, offset,
                                     static_cast<char*>(const_cast<void*>(packed)), bytes);
}

int copy_elements(const void* from, MPI_Count from_count, const Datatype& from_type, void* to,
                  MPI_Count to_count, const Datatype& to_type) {
  const auto available = static_cast<std::size_t>(from_count * from_type.size);
  const auto room = static_cast<std::size_t>(to_count * to_type.size);
  const std::size_t bytes = std::min(available, room);
  if (from_type.contiguous) {
    unpack(to, to_count, to_type, 0, static_cast<const char*>(from) + from_type.true_lb, bytes);
  } else if (to_type.contiguous) {
    pack(from, from_count, from_type, 0, static_cast<char*>(to) + to_type.true_lb, bytes);
  } else {
    char chunk[16384];  // stays in the first-level cache
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t part = std::min(sizeof chunk, bytes - done);
      pack(from, from_count, from_type, done, chunk, part);
      unpack(to, to_count, to_type, done, chunk, part);
      done += part;
    }
  }
  return available > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

}  // namespace meantime
