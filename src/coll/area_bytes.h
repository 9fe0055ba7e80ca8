// How much of the segment the collectives want for a communicator: known to the maker of the
// segment, which knows nothing else of collectives. Zero-filled must be a valid area.
#pragma once

#include <cstddef>

namespace meantime::coll {

constexpr std::size_t area_bytes(int ranks) {
  return 4096 + static_cast<std::size_t>(ranks) * 1024;
}

}  // namespace meantime::coll
