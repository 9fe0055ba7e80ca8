// Packing and unpacking: the layout's program, run over memory.
//   whole_*  moves complete nodes: kernels for the two innermost levels, no checks inside
//   part     moves a range of a node's stream: cut pieces at both ends, whole ones between
#include <algorithm>
#include <cstring>

#include "core/datatype/datatype.h"
#include "core/datatype/layout.h"

namespace meantime {

namespace {

enum class Direction : bool { pack, unpack };
using Shape = LayoutNode::Shape;

template <Direction direction>
void move(char* memory, char* packed, MPI_Count bytes) {
  if constexpr (direction == Direction::pack) {
    std::memcpy(packed, memory, static_cast<std::size_t>(bytes));
  } else {
    std::memcpy(memory, packed, static_cast<std::size_t>(bytes));
  }
}

/// A length known to the compiler makes memcpy one or two moves.
template <Direction direction, MPI_Count length>
void move_fixed(char* memory, char* packed) {
  if constexpr (direction == Direction::pack) {
    std::memcpy(packed, memory, length);
  } else {
    std::memcpy(memory, packed, length);
  }
}

/// For runs of mixed small lengths: no call, and two overlapping moves for odd ones.
template <Direction direction>
void move_short(char* memory, char* packed, MPI_Count bytes) {
  const auto ends = [&]<MPI_Count half>() {
    char first[half];
    char last[half];
    char* const from = direction == Direction::pack ? memory : packed;
    char* const to = direction == Direction::pack ? packed : memory;
    std::memcpy(first, from, half);
    std::memcpy(last, from + bytes - half, half);
    std::memcpy(to, first, half);
    std::memcpy(to + bytes - half, last, half);
  };
  if (bytes == 8) {
    move_fixed<direction, 8>(memory, packed);
  } else if (bytes == 4) {
    move_fixed<direction, 4>(memory, packed);
  } else if (bytes > 64) {
    move<direction>(memory, packed, bytes);
  } else if (bytes > 32) {
    ends.template operator()<32>();
  } else if (bytes >= 16) {
    ends.template operator()<16>();
  } else if (bytes > 8) {
    ends.template operator()<8>();
  } else if (bytes > 4) {
    ends.template operator()<4>();
  } else if (bytes >= 2) {
    ends.template operator()<2>();
  } else if (bytes == 1) {
    *(direction == Direction::pack ? packed : memory) =
        *(direction == Direction::pack ? memory : packed);
  }
}

/// Calls `kernel.operator()<length>()` for the lengths worth a loop of their own, else <0>.
template <class Kernel>
void with_length(MPI_Count length, Kernel kernel) {
  switch (length) {
    case 1:
      return kernel.template operator()<1>();
    case 2:
      return kernel.template operator()<2>();
    case 4:
      return kernel.template operator()<4>();
    case 8:
      return kernel.template operator()<8>();
    case 12:
      return kernel.template operator()<12>();
    case 16:
      return kernel.template operator()<16>();
    case 20:
      return kernel.template operator()<20>();
    case 24:
      return kernel.template operator()<24>();
    case 28:
      return kernel.template operator()<28>();
    case 32:
      return kernel.template operator()<32>();
    case 40:
      return kernel.template operator()<40>();
    case 48:
      return kernel.template operator()<48>();
    case 56:
      return kernel.template operator()<56>();
    case 64:
      return kernel.template operator()<64>();
    default:
      return kernel.template operator()<0>();
  }
}

template <Direction direction, MPI_Count fixed>
void move_one(char* memory, char* packed, MPI_Count length) {
  if constexpr (fixed != 0) {
    move_fixed<direction, fixed>(memory, packed);
  } else {
    move_short<direction>(memory, packed, length);
  }
}

/// `outer` rows of `inner` runs of `length` bytes: a face of a grid, a matrix column, …
template <Direction direction>
void move_grid(char* memory, char* packed, MPI_Count outer, MPI_Count outer_stride, MPI_Count inner,
               MPI_Count inner_stride, MPI_Count length) {
  with_length(length, [=]<MPI_Count fixed>() {
    const MPI_Count bytes = fixed != 0 ? fixed : length;
    char* __restrict to = packed;
    for (MPI_Count row = 0; row < outer; ++row) {
      char* __restrict from = memory + row * outer_stride;
#pragma GCC unroll 8
      for (MPI_Count i = 0; i < inner; ++i) {
        move_one<direction, fixed>(from, to, bytes);
        from += inner_stride;
        to += bytes;
      }
    }
  });
}

/// `outer` times the runs of equal length that the list names.
template <Direction direction>
void move_blocks(char* memory, char* packed, MPI_Count outer, MPI_Count outer_stride,
                 const MPI_Count* displacements, MPI_Count count, MPI_Count length) {
  with_length(length, [=]<MPI_Count fixed>() {
    const MPI_Count bytes = fixed != 0 ? fixed : length;
    char* to = packed;
    for (MPI_Count row = 0; row < outer; ++row) {
      char* const from = memory + row * outer_stride;
      for (MPI_Count i = 0; i < count; ++i) {
        move_one<direction, fixed>(from + displacements[i], to, bytes);
        to += bytes;
      }
    }
  });
}

/// The same for runs of any lengths; starts[count] - starts[0] is the length of a row.
template <Direction direction>
void move_rows(char* memory, char* packed, MPI_Count rows, MPI_Count row_stride,
               const MPI_Count* displacements, const MPI_Count* starts, MPI_Count count) {
  for (MPI_Count row = 0; row < rows; ++row) {
    char* const from = memory + row * row_stride;
    for (MPI_Count i = 0; i < count; ++i) {
      const MPI_Count bytes = starts[i + 1] - starts[i];
      move_short<direction>(from + displacements[i], packed, bytes);
      packed += bytes;
    }
  }
}

/// An array of records: the same run of all rows at once, so that its length is known in the loop.
template <Direction direction>
void move_by_columns(char* memory, char* packed, MPI_Count rows, MPI_Count row_stride,
                     const MPI_Count* displacements, const MPI_Count* starts, MPI_Count count) {
  const MPI_Count row_bytes = starts[count] - starts[0];
  for (MPI_Count i = 0; i < count; ++i) {
    const MPI_Count length = starts[i + 1] - starts[i];
    with_length(length, [=]<MPI_Count fixed>() {
      char* __restrict from = memory + displacements[i];
      char* __restrict to = packed + starts[i] - starts[0];
#pragma GCC unroll 4
      for (MPI_Count row = 0; row < rows; ++row) {
        move_one<direction, fixed>(from, to, length);
        from += row_stride;
        to += row_bytes;
      }
    });
  }
}

template <Direction direction>
void move_runs(char* memory, char* packed, MPI_Count rows, MPI_Count row_stride,
               const MPI_Count* displacements, const MPI_Count* starts, MPI_Count count) {
  constexpr MPI_Count chunk = 8192;  // bytes that stay in the first-level cache between columns
  const MPI_Count row_bytes = starts[count] - starts[0];
  const MPI_Count rows_at_once = chunk / row_bytes;
  if (rows < 4 || rows_at_once < 4) {
    move_rows<direction>(memory, packed, rows, row_stride, displacements, starts, count);
    return;
  }
  for (MPI_Count row = 0; row < rows; row += rows_at_once) {
    move_by_columns<direction>(memory + row * row_stride, packed + row * row_bytes,
                               std::min(rows_at_once, rows - row), row_stride, displacements,
                               starts, count);
  }
}

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
  if (root.shape == Shape::loop && (count == 1 || type.extent == root.count * root.stride)) {
    mover.part_loop(layout.node(root.child), root.stride, memory, skip, packed, bytes);
  } else if (skip == 0 && bytes == total) {
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

int copy(const void* from, MPI_Count from_count, const Datatype& from_type, void* to,
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
