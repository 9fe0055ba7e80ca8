// The memory of a packed stream as address and length pairs, for process_vm_readv and the like.
#include <algorithm>

#include "core/datatype/datatype.h"
#include "core/datatype/layout.h"

namespace meantime {

namespace {

using Shape = LayoutNode::Shape;

class RunList {
 public:
  RunList(const Layout& layout, iovec* out, std::size_t max)
      : layout_(layout), out_(out), max_(max) {}

  std::size_t length() const { return length_; }
  std::size_t bytes() const { return bytes_; }

  /// All these walk on from `skip` bytes into the stream and return false once the list is full.
  bool loop(const LayoutNode& child, MPI_Count count, MPI_Count stride, char* memory,
            MPI_Count skip) {
    for (MPI_Count i = skip / child.bytes; i < count; ++i) {
      if (!node(child, memory + i * stride, std::max<MPI_Count>(0, skip - i * child.bytes))) {
        return false;
      }
    }
    return true;
  }

  bool node(const LayoutNode& node, char* memory, MPI_Count skip) {
    switch (node.shape) {
      case Shape::run:
        return run(memory + skip, node.bytes - skip);
      case Shape::loop:
        return loop(layout_.node(node.child), node.count, node.stride, memory, skip);
      case Shape::blocks:
        return blocks(node, memory, skip);
      default:
        return entries(node, memory, skip);
    }
  }

 private:
  bool run(char* memory, MPI_Count length) {
    const auto bytes = static_cast<std::size_t>(length);
    if (length_ != 0) {
      iovec& last = out_[length_ - 1];
      if (static_cast<char*>(last.iov_base) + last.iov_len == memory) {
        last.iov_len += bytes;
        bytes_ += bytes;
        return true;
      }
    }
    if (length_ == max_) {
      return false;
    }
    out_[length_++] = {memory, bytes};
    bytes_ += bytes;
    return true;
  }

  bool blocks(const LayoutNode& node, char* memory, MPI_Count skip) {
    const MPI_Count* displacements = layout_.displacements(node);
    for (MPI_Count i = skip / node.stride; i < node.count; ++i) {
      const MPI_Count inside = std::max<MPI_Count>(0, skip - i * node.stride);
      if (!run(memory + displacements[i] + inside, node.stride - inside)) {
        return false;
      }
    }
    return true;
  }

  bool entries(const LayoutNode& list, char* memory, MPI_Count skip) {
    const MPI_Count* displacements = layout_.displacements(list);
    const MPI_Count* starts = layout_.starts(list);
    for (MPI_Count i = std::upper_bound(starts, starts + list.count + 1, skip) - starts - 1;
         i < list.count; ++i) {
      char* const place = memory + displacements[i];
      const MPI_Count inside = std::max<MPI_Count>(0, skip - starts[i]);
      const bool more = list.shape == Shape::runs
                            ? run(place + inside, starts[i + 1] - starts[i] - inside)
                            : node(layout_.child(list, i), place, inside);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  const Layout& layout_;
  iovec* out_;
  std::size_t max_;
  std::size_t length_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::size_t runs(const void* buffer, MPI_Count count, const Datatype& type, std::size_t offset,
                 iovec* out, std::size_t max, std::size_t* bytes_covered) {
  char* const memory = static_cast<char*>(const_cast<void*>(buffer));
  const auto total = static_cast<std::size_t>(count * type.size);
  *bytes_covered = 0;
  if (offset >= total || max == 0) {
    return 0;
  }
  if (type.contiguous) {
    *bytes_covered = total - offset;
    out[0] = {memory + type.true_lb + offset, total - offset};
    return 1;
  }
  RunList list(*type.layout, out, max);
  list.loop(type.layout->root(), count, type.extent, memory + type.layout->offset(),
            static_cast<MPI_Count>(offset));
  *bytes_covered = list.bytes();
  return list.length();
}

}  // namespace meantime
