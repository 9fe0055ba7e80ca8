#include "match/transitions.h"

#include <cstdio>
#include <cstdlib>

namespace meantime::match {

void Transitions::leave_to_owner(Receive& receive) {
  const auto owner = static_cast<int>(receive.owner);
  // The state first: what is on the list may be over at any time.
  const AwaitedWord::Changed changed = receive.awaited().become(matched);
  ground_.segment.area(owner).mailbox.attention.push(ground_.segment.link(&receive), receive.next);
  ring_and_check(changed, matched);
  ground_.bells.memory_is_back(owner);
}

void Transitions::push_attention(Receive& receive) {
  const auto owner = static_cast<int>(receive.owner);
  ground_.segment.area(owner).mailbox.attention.push(ground_.segment.link(&receive), receive.next);
  ground_.bells.ring_rank(owner);
}

void Transitions::notice_sender(Message& message) {
  message.flags |= noticed;
  ground_.segment.area(static_cast<int>(message.origin))
      .mailbox.attention.push(ground_.segment.link(&message), message.next);
}

void Transitions::begin_shared(Message& message, Receive& receive, bool asks_sender) {
  transfer_of(message).holders.store(2, std::memory_order_relaxed);
  if (ground_.is_me(receive.owner)) {
    // Before the sender knows: it may move everything before we come to it, and `done` is final.
    begin_copy(receive);
  }
  if (asks_sender) {
    notice_sender(message);
  }
  begin_move(message);
}

void Transitions::deliver(Message& message) {
  const auto origin = static_cast<int>(message.origin);
  const AwaitedWord::Changed changed = transfer_of(message).awaited().become(delivered);
  ring_and_check(changed, delivered);
  if ((changed.before & orphaned) != 0) [[unlikely]] {
    cells_.give_back(message);
  } else {
    ground_.bells.memory_is_back(origin);
  }
}

void Transitions::end_fetch(Message& message) {
  const auto origin = static_cast<int>(message.origin);
  ring_and_check(transfer_of(message).awaited().become(fetched), fetched);
  ground_.bells.memory_is_back(origin);
}

void Transitions::wrong_step(int from, int to) const {
  std::fprintf(stderr, "Meantime: rank %d: a message's state would go from %d to %d\n",
               ground_.rank.world_rank, from, to);
  std::abort();
}

}  // namespace meantime::match
