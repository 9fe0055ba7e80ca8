// A name in a report (layout.h), as words that its rank writes and anybody reads meanwhile: as much
// of it as there is room for, torn if it is just being written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace meantime::node {

/// In front of a text that stands in a name's place and is none.
inline constexpr char no_name = '\1';

inline void write_words(std::span<std::atomic<std::uint64_t>> places, std::string_view name) {
  for (std::atomic<std::uint64_t>& place : places) {
    const std::size_t bytes = std::min(name.size(), sizeof place);
    std::uint64_t word = 0;
    std::memcpy(&word, name.data(), bytes);
    place.store(word, std::memory_order_relaxed);
    if (bytes < sizeof place) {
      break;
    }
    name.remove_prefix(bytes);
  }
}

inline std::string read_words(std::span<const std::atomic<std::uint64_t>> places) {
  std::string name;
  for (const std::atomic<std::uint64_t>& place : places) {
    const std::uint64_t word = place.load(std::memory_order_relaxed);
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    const std::size_t length = strnlen(bytes, sizeof word);
    name.append(bytes, length);
    if (length < sizeof word) {
      break;
    }
  }
  return name;
}

}  // namespace meantime::node
