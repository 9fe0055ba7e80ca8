#include "match/transitions.h"

#include <cstdio>
#include <cstdlib>

namespace meantime::match {

// Why nobody sleeps beside it. Who armed for it before it became `matched` is rung by that change.
// Who comes later finds it matched (acquire), so it arms nothing, and finds the receive on the
// list, where it has been since before: after arming it looks there. The other way round it could
// look between the change and the push. As it is, the owner may find it on the list while it is
// still posted: then it leaves it there (Transfers::attend). It is over only after that, and nobody
// here touches it any more.
void Transitions::leave_to_owner(Receive& receive) {
  const auto owner = static_cast<int>(receive.owner);
  put_on_list(receive);
  end(receive, matched);
  ground_.bells.memory_is_back(owner);
}

void Transitions::push_attention(Receive& receive) {
  put_on_list(receive);
  ground_.bells.ring_rank(static_cast<int>(receive.owner));
}

void Transitions::put_on_list(Receive& receive) {
  ground_.segment.area(static_cast<int>(receive.owner))
      .mailbox.attention.push(ground_.segment.link(&receive), receive.next);
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
