// The states of receives and transfers (items.h) change here and nowhere else, each checked against
// what it comes from, and whoever waits for the change is signalled.
#pragma once

#include "match/cells.h"
#include "match/ground.h"

namespace meantime::match {

constexpr bool may_become(ReceiveState from, ReceiveState to) {
  switch (to) {
    case matched:
    case cancelled:
      return from == posted;
    case copying:
      return from == posted || from == matched;
    case done:
      return from == posted || from == matched || from == copying;
    default:
      return false;
  }
}
constexpr bool may_become(TransferState from, TransferState to) {
  return to == delivered ? from == offered || from == moving
                         : (to == moving || to == fetched) && from == offered;
}

class Transitions {
 public:
  Transitions(Ground& ground, Cells& cells) : ground_(ground), cells_(cells) {}

  // --- a receive
  /// Its message is in a cell, for its owner to fetch, who finds the receive on its attention list:
  /// whoever waits for it is signalled, the rank only where somebody may lack that cell.
  void leave_to_owner(Receive& receive);
  /// The owner is asked to take part: it finds the receive on its attention list.
  void call_owner(Receive& receive) {
    add(receive, matched);
    push_attention(receive);
  }
  /// The owner need not do anything, or is doing it.
  void begin_copy(Receive& receive) { add(receive, copying); }
  /// `done` or `cancelled`.
  void finish(Receive& receive, ReceiveState final_state) { end(receive, final_state); }
  /// By its owner, who has matched it: until it is done nobody else touches it.
  void finish_alone(Receive& receive) {
    ring_and_check(receive.awaited().become_alone(done), done);  // another thread of this rank
  }
  /// On its owner's attention list, which is signalled.
  void push_attention(Receive& receive);
  /// The same, and nobody is signalled.
  void put_on_list(Receive& receive);

  // --- a transfer
  /// The sender is asked to take part. Before the transfer moves, so that a sender that sees it
  /// delivered knows whether the message is on its list.
  void notice_sender(Message& message);
  void begin_move(Message& message) {
    check(static_cast<TransferState>(transfer_of(message).awaited().add(moving)), moving);
  }
  /// The receiver takes part, and the sender too if it is asked.
  void begin_shared(Message& message, Receive& receive, bool asks_sender);
  /// One holder less. The last one says so to the sender and must not touch the message any more.
  void leave(Message& message) {
    if (transfer_of(message).holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      deliver(message);
    }
  }
  void deliver(Message& message);
  /// Its cell is its sender's again, which then waits for a notice.
  void end_fetch(Message& message);

 private:
  template <class State>
  void check(State from, State to) const {
    if (!may_become(from, to)) [[unlikely]] {
      wrong_step(from, to);
    }
  }
  template <class State>
  void ring_and_check(const AwaitedWord::Changed& changed, State to) {
    check(static_cast<State>(changed.state()), to);
    ground_.bells.ring(changed.sleep);
  }
  void add(Receive& receive, ReceiveState step) {
    check(static_cast<ReceiveState>(receive.awaited().add(step)), step);
  }
  void end(Receive& receive, ReceiveState state) {
    ring_and_check(receive.awaited().become(state), state);
  }
  [[noreturn]] void wrong_step(int from, int to) const;

  Ground& ground_;
  Cells& cells_;
};

}  // namespace meantime::match
