// How much of the segment the collectives want for a communicator: known to the maker of the
// segment, which knows nothing else of collectives. What the bytes are is in area.h. Zero-filled is
// a valid area.
#pragma once

#include <cstddef>
#include <cstdint>

namespace meantime::coll {

inline constexpr int stage_count = 8;  ///< collectives of one communicator under way at once
inline constexpr int core_groups = 8;  ///< sleepers are kept apart by this many cores
inline constexpr int gate_count = 2;   ///< see area.h
inline constexpr std::size_t slot_bytes = 256;
inline constexpr std::size_t stage_head_bytes =
    256 + gate_count * core_groups * 8 + core_groups * 64;

constexpr std::size_t sleeper_bytes(int ranks) {
  const std::size_t entries = static_cast<std::size_t>(gate_count) * core_groups * ranks;
  return (entries * sizeof(std::uint16_t) + 63) / 64 * 64;
}
inline constexpr std::size_t word_stride = 8;  ///< from one member's word to the next one's
constexpr std::size_t words_bytes(int ranks) {
  return (static_cast<std::size_t>(ranks) * word_stride + 63) / 64 * 64;
}
constexpr std::size_t stage_bytes(int ranks) {
  return stage_head_bytes + sleeper_bytes(ranks) + words_bytes(ranks) +
         static_cast<std::size_t>(ranks) * slot_bytes;
}
constexpr std::size_t member_bytes = 64;

/// For a communicator of `ranks` members; at most 65 535.
constexpr std::size_t area_bytes(int ranks) {
  return static_cast<std::size_t>(ranks) * member_bytes + stage_count * stage_bytes(ranks);
}

}  // namespace meantime::coll
