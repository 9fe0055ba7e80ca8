// A copy from one place to another of a node, that several may move at once.
//   fragment  so many pages of it, but for the last: what one of them moves at a time
//   claimed   somebody moves that fragment, or has moved it, and nobody else does
//   done      its bytes are there: its reader may touch these pages. The others are not to be
//             touched: somebody may be writing there
//   settled   it is done, or could not be moved
//   rest      what could not be moved, once all is settled. It goes another way
// Who moves needs nothing but this: whether it begins at the front, where another one is at work
// from the back, or in the middle, where somebody waits for a page, one word says what is left.
// In shared memory. Whoever made it says how long it stays.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace meantime::copy {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint32_t most_fragments = 64;

/// By which fragments a mover goes on. Two from the two ends: so in buffers that are used again
/// each core finds its part in its own cache. (1 MiB to and fro: 43 us from one counter, 29 so.)
enum class Order : std::uint8_t { from_front, from_back };

/// A part of it, in bytes.
struct Stretch {
  std::uint64_t begin;
  std::uint64_t bytes;
};

struct Copy {
  std::uint64_t source_address;       ///< 0: not contiguous, or nobody else can read it
  std::uint64_t destination_address;  ///< 0: not contiguous
  std::uint64_t bytes;
  std::uint32_t fragment_pages;
  std::atomic<std::int32_t> error;  ///< an errno that stopped somebody: nobody moves any more
  std::atomic<std::uint64_t> claimed;
  std::atomic<std::uint64_t> done;
  std::atomic<std::uint32_t> settled;  ///< how many
  std::atomic<std::uint32_t> took_ns;  ///< all movers together, if somebody wants to know

  /// Into fragments of about so many bytes, or more, for there are 64 at most. Before anybody moves
  /// it.
  void divide(std::uint64_t about_bytes);
  std::uint32_t fragments() const;
  std::uint64_t fragment_bytes() const { return fragment_pages * page_bytes; }
  Stretch fragment(std::uint32_t number) const;

  /// The next one, for the caller alone. nullopt: there is none left.
  std::optional<std::uint32_t> claim(Order order);
  /// It was claimed, and moved (0), or was not, by this errno. True: with it all are settled, and
  /// the caller, which has seen the others' bytes, says so to whoever waits.
  bool settle(std::uint32_t fragment, int errno_or_0);

  /// Once all are settled, and of a copy that is not divided: how many bytes the rest has, and
  /// where, in the copy, those from its byte `offset` on are.
  std::uint64_t rest_bytes() const;
  Stretch rest_at(std::uint64_t offset) const;
};

}  // namespace meantime::copy
