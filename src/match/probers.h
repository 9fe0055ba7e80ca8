// The sleepers of a rank that probe, in a list of its mailbox that is guarded by the mailbox's
// match lock: whoever adds a message that nobody has posted a receive for rings those who probe for
// it, and no other thread of the rank.
// Why none is missed: a prober lists itself before it looks at the queue, which it does under the
// lock, too, as are adding to the queue and then the look at the list. So either the prober finds
// the message, or whoever adds it finds the prober. What it learns there is the number of the
// present sleep: the prober takes itself off the list before it begins another one. (If the holder
// of the match lock is stopped then, it says that it probes for nothing, and stays on the list
// until it probes again. Who reads the old word meanwhile wakes it in vain.)
#pragma once

#include "match/items.h"
#include "node/layout.h"
#include "node/segment.h"

namespace meantime::match {

/// For who probes in several contexts. None has this number.
inline constexpr std::uint32_t any_context = ~std::uint32_t{0};

/// Of one that is still listed and probes for nothing. None has this number either.
inline constexpr std::uint32_t no_context = any_context - 1;

inline bool is_listed(const node::Waiter& waiter) {
  return waiter.probed_context.load(std::memory_order_relaxed) != 0;
}

/// A context that is not 0.
inline void list_prober(node::Segment& segment, node::Mailbox& box, node::Waiter& waiter,
                        const Envelope& wanted) {
  waiter.probed_context.store(wanted.context, std::memory_order_relaxed);
  waiter.probed_source = wanted.source;
  waiter.probed_tag = wanted.tag;
  waiter.next_prober = box.probers;
  box.probers = segment.link(&waiter);
}

/// The list is short: sleeping threads of one rank.
inline void unlist_prober(node::Segment& segment, node::Mailbox& box, node::Waiter& waiter) {
  waiter.probed_context.store(0, std::memory_order_relaxed);
  const Link link = segment.link(&waiter);
  Link* place = &box.probers;
  while (*place != link) {
    place = &segment.at<node::Waiter>(*place)->next_prober;
  }
  *place = waiter.next_prober;
}

inline bool probes_for(const node::Waiter& prober, const Message& message) {
  const std::uint32_t context = prober.probed_context.load(std::memory_order_relaxed);
  return takes(
      {context == any_context ? message.context : context, prober.probed_source, prober.probed_tag},
      message);
}

/// By who holds the match lock and has added the message to the queue.
template <class Function>
void for_each_prober(node::Segment& segment, const node::Mailbox& box, const Message& message,
                     Function&& function) {
  for (Link place = box.probers; place != 0;) {
    const auto& prober = *segment.at<node::Waiter>(place);
    place = prober.next_prober;
    if (probes_for(prober, message)) {
      function(prober);
    }
  }
}

}  // namespace meantime::match
