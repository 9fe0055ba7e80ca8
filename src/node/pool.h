// Shared memory for one rank: by size classes (powers of two from 64 B to 64 KiB), beyond them in
// whole pages. Everything is cut from chunks of the segment and, while that grows, never joined
// again: whoever had many small pieces will want many small pieces. Where the segment is full a
// larger piece is cut, and neighbours are joined (`join`): what is free is of use for everything.
#pragma once

#include <cstddef>
#include <vector>

#include "node/layout.h"
#include "node/segment.h"

namespace meantime::node {

/// `allocate` and `release`, of as many bytes, are for the owning rank only, with its lock held.
/// Contents of reused places are not cleared.
class Pool {
 public:
  /// A piece that is cut before the segment grows for this pool.
  void begin_with(Link place, std::size_t bytes) {
    chunk_ = place;
    chunk_left_ = bytes;
  }
  /// 0 when out of memory.
  Link allocate(std::size_t bytes);
  void release(Link place, std::size_t bytes);
  /// Makes one piece of all free ones that lie side by side. True if there are larger ones by it.
  bool join();
  /// All that is free goes to whoever lacks memory (Header::given_up). True if there was any.
  bool give_up_all();
  /// What others have given up becomes this pool's. True if there was any.
  bool take_given_up();

 private:
  /// Lies at the beginning of what it describes, here or among what was given up.
  struct Piece {
    Link next;
    std::size_t bytes;
  };
  Link allocate_large(std::size_t bytes, bool grows);
  void release_large(Link place, std::size_t bytes);
  void release_any(Link place, std::size_t bytes);
  void release_chunk();
  Link cut_larger(int size_class);
  std::vector<Grown> take_all_free();

  static constexpr std::size_t largest_class = 64 * 1024;
  static constexpr std::size_t largest_chunk = 4 * largest_class;
  static constexpr int smallest = 6;
  static constexpr int classes = 17;
  Link free_[classes] = {};
  /// Free pieces of whole pages, in the order of their places, never side by side.
  Link large_ = 0;
  Link chunk_ = 0;
  std::size_t chunk_left_ = 0;
  /// The next one is as large as all before together: of ten thousand ranks that have a few
  /// messages each, none shall take the memory of a busy one.
  std::size_t next_chunk_ = start_page;
  bool joined_ = false;  ///< and nothing was released since
};

}  // namespace meantime::node
