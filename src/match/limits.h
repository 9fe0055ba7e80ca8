// What bounds a rank's messages (docs/reference/settings.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "match/route.h"

namespace meantime::match {

/// The test setting of match/ways/test_wire.h.
struct Wire {
  std::uint64_t latency_ns = 0;
  double ns_per_byte = 0;
  bool interface_answers = false;
  bool on = false;
};

struct Limits {
  /// What one mailbox may take of a rank's credit: so much that a window of 64 messages of 64 KiB
  /// goes by cells (of 128 KiB, and half is for short ones: 71 us; with 2 MiB three in four are
  /// fetched, 230 us), and that all ranks together leave at one no more than one may leave at all.
  static constexpr std::size_t pair_share(std::size_t rank_credit, std::size_t ranks) {
    return std::clamp<std::size_t>(rank_credit / ranks, 2u << 20, 16u << 20);
  }

  std::size_t eager = 8 * 1024;                ///< bytes: up to this always through a cell
  std::size_t medium = Route::medium_bytes;    ///< … and up to this if that is the cheaper way
  std::size_t pair_credit = 2 * 1024 * 1024;   ///< bytes of cells that may lie in one mailbox
  std::size_t rank_credit = 16 * 1024 * 1024;  ///< … in all mailboxes together
  /// To which both may grow while short messages are not read; less than they are: not at all.
  std::size_t most_credit = 64 * 1024 * 1024;
  /// For so long nothing is read until then.
  std::uint64_t overflow_after_ns = 20'000'000;
  /// Descriptions that may lie in one mailbox. Beyond it a send waits at the sender, and with it
  /// all later ones to that rank: a program that relies on a later one could hang, so this is only
  /// the memory's last defence (256 MiB a pair), not a means of flow control.
  std::uint32_t pair_offers = 1u << 20;
  std::size_t remote_eager = 64 * 1024;  ///< bytes: up to this at once to another node
  std::size_t answered_from = 0;  ///< bytes of open receives: the helper hears the network for them
  std::size_t fragment = 128 * 1024;  ///< of a direct transfer
  std::uint32_t pipe_bytes = 256 * 1024;
  Wire wire;
};

}  // namespace meantime::match
