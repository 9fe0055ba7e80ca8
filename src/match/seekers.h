// The sleepers of a rank that probe, in a list of its mailbox that is guarded by the mailbox's
// match lock: whoever adds a message that nobody has posted a receive for rings those who look for
// it, and no other thread of the rank.
// Why none is missed: a prober lists itself before it looks at the queue, which it does under the
// lock, too, as are adding to the queue and then the look at the list. So either the prober finds
// the message, or whoever adds it finds the prober. What it learns there is the number of the
// present sleep: the prober takes itself off the list before it begins another one. (If the holder
// of the match lock is stopped then, it says that it looks for nothing, and stays on the list until
// it probes again. Who reads the old word meanwhile wakes it in vain.)
#pragma once

#include "match/items.h"
#include "node/layout.h"
#include "node/segment.h"

namespace meantime::match {

/// For who looks in several contexts. None has this number.
inline constexpr std::uint32_t any_context = ~std::uint32_t{0};

/// Of one that is still listed and looks for nothing. None has this number either.
inline constexpr std::uint32_t no_context = any_context - 1;

inline bool is_listed(const node::Waiter& waiter) {
  return waiter.sought_context.load(std::memory_order_relaxed) != 0;
}

/// A context that is not 0.
inline void list_seeker(node::Segment& segment, node::Mailbox& box, node::Waiter& waiter,
                        const Envelope& wanted) {
  waiter.sought_context.store(wanted.context, std::memory_order_relaxed);
  waiter.sought_source = wanted.source;
  waiter.sought_tag = wanted.tag;
  waiter.next_seeking = box.seekers;
  box.seekers = segment.link(&waiter);
}

/// The list is short: sleeping threads of one rank.
inline void unlist_seeker(node::Segment& segment, node::Mailbox& box, node::Waiter& waiter) {
  waiter.sought_context.store(0, std::memory_order_relaxed);
  const Link link = segment.link(&waiter);
  Link* place = &box.seekers;
  while (*place != link) {
    place = &segment.at<node::Waiter>(*place)->next_seeking;
  }
  *place = waiter.next_seeking;
}

inline bool looks_for(const node::Waiter& seeker, const Message& message) {
  const std::uint32_t context = seeker.sought_context.load(std::memory_order_relaxed);
  return takes(
      {context == any_context ? message.context : context, seeker.sought_source, seeker.sought_tag},
      message);
}

/// By who holds the match lock and has added the message to the queue.
template <class Function>
void for_each_seeker(node::Segment& segment, const node::Mailbox& box, const Message& message,
                     Function&& function) {
  for (Link place = box.seekers; place != 0;) {
    const auto& seeker = *segment.at<node::Waiter>(place);
    place = seeker.next_seeking;
    if (looks_for(seeker, message)) {
      function(seeker);
    }
  }
}

}  // namespace meantime::match
