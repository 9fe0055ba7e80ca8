// What a probe that sleeps looks for, as one word in its rank's mailbox: so that whoever brings a
// message that nobody has posted a receive for wakes the rank only if it is that message.
//   sought   a number made of context, source and tag, as the probe names them (wildcards too);
//            0: any message. Two that differ may have the same number: then somebody wakes in vain
#pragma once

#include <mpi.h>

#include <cstdint>

#include "match/items.h"
#include "node/layout.h"

namespace meantime::match {

inline std::uint64_t sought(std::uint32_t context, std::int32_t source, std::int32_t tag) {
  std::uint64_t number =
      std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | static_cast<std::uint32_t>(tag);
  number = (number ^ context * 0xd1342543de82ef95u) * 0x9e3779b97f4a7c15u;  // odd: keeps all apart
  return (number ^ number >> 29) | 1;
}

/// By the owner, whose lock is held, before it counts itself in to `wants_any`. Threads that look
/// for different things hear of any message until none of them sleeps.
// Why none is missed: the number is written before `wants_any`, that before the look at the queue,
// which is under the mailbox's right, as are adding to the queue and then the look here. So either
// the prober finds the message, or whoever adds it finds the number, or a 0 that came after it.
inline void seek(node::Mailbox& box, std::uint64_t number) {
  const bool first = box.wants_any.load(std::memory_order_relaxed) == 0;
  if (!first && box.sought.load(std::memory_order_relaxed) == number) {
    return;
  }
  box.sought.store(first ? number : 0, std::memory_order_relaxed);
}

/// By who holds the mailbox's right and has added the message to its queue.
inline bool is_sought(const node::Mailbox& box, const Message& message) {
  if (box.wants_any.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  const std::uint64_t number = box.sought.load(std::memory_order_relaxed);
  const auto is = [&](std::int32_t source, std::int32_t tag) {
    return number == sought(message.context, source, tag);
  };
  return number == 0 || is(message.source, message.tag) || is(MPI_ANY_SOURCE, message.tag) ||
         is(message.source, MPI_ANY_TAG) || is(MPI_ANY_SOURCE, MPI_ANY_TAG);
}

}  // namespace meantime::match
