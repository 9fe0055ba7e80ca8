// The few calls of an owner that need its queues now: probe and cancel. Rights are held for the
// length of a few list operations, so they wait for the holder, who has lost its core in between,
// perhaps. Not for one that is stopped (SIGSTOP, a debugger): then a probe finds nothing yet, and
// what is to be cancelled stays open until somebody looks whether it is complete; both sleeps only
// nap, because nobody rings when the holder goes on.
#include <mpi.h>

#include "base/pause.h"
#include "match/engine.h"
#include "match/seekers.h"
#include "node/process.h"
#include "wait/park.h"
#include "wait/wait.h"

namespace meantime::match {

/// False: the holder is stopped, perhaps for ever.
bool Engine::take_right() {
  constexpr int quick_turns = 100;
  constexpr int turns_a_look = 64;
  for (int turn = 1; !try_right(box_); ++turn) {
    if (turn <= quick_turns) {
      wait::pause();
      continue;
    }
    wait::give_core_to_kernel();
    const std::uint32_t holder = box_.right.load(std::memory_order_relaxed);
    if (turn % turns_a_look == 0 && holder != 0 &&
        node::is_stopped(segment_.area(static_cast<int>(holder) - 1))) {
      return false;
    }
  }
  return true;
}

void Engine::let_go_of_right(node::Mailbox& box) {
  holds_right_ = false;
  if (is_thread_rank() && box.queues != 0) {
    box.posted.store(segment_.at<Queues>(box.queues)->posted.entries, std::memory_order_relaxed);
  }
  if (&box == &box_ && box.sleepers.load(std::memory_order_relaxed) == 0) {
    // The owner, awake in all its threads: whoever pushes now leaves the matching to us anyway, and
    // we look again once we have counted ourselves among the sleepers.
    box.right.store(0, std::memory_order_release);
  } else {
    box.right.store(0, std::memory_order_seq_cst);
  }
}

/// After take_right: and does what others have left to the holder.
void Engine::give_right_back() {
  let_go_of_right(box_);
  drain(rank.world_rank);
  after_drain();
}

void Engine::cancel(Receive& receive) {
  if (take_right()) {
    cancel_now(receive);
  } else if (auto& local = *reinterpret_cast<LocalReceive*>(receive.request); !local.to_cancel) {
    local.to_cancel = true;
    ++cancels_;
  }
}

/// With the right, which it gives back.
void Engine::cancel_now(Receive& receive) {
  QueueView queues(*segment_.at<Queues>(box_.queues), pool);
  empty_inbox(area_, queues);  // the receive itself may still be in it
  if (receive.state() == posted) {
    queues.remove_receive(receive);
    finish(receive, cancelled);
  }
  give_right_back();
}

void Engine::try_to_cancel(Receive& receive) {
  auto& local = *reinterpret_cast<LocalReceive*>(receive.request);
  const bool open = receive.state() == posted;
  if (local.to_cancel && (!open || try_right(box_))) {
    local.to_cancel = false;
    --cancels_;
    if (open) {
      cancel_now(receive);
    }
  }
}

Message* Engine::probe(std::uint32_t context, std::int32_t source, std::int32_t tag, bool take) {
  if (!take_right()) {
    return nullptr;  // it is found later
  }
  QueueView queues(*segment_.at<Queues>(box_.queues), pool);
  empty_inbox(area_, queues);
  Message* message = queues.find_message(context, source, tag);
  if (message != nullptr && take) {
    queues.remove_message(*message);
  } else if (message != nullptr && source == MPI_ANY_SOURCE) {
    queues.show(*message);
  }
  give_right_back();
  return message;
}

void Engine::seek(node::Waiter& waiter, std::uint32_t context, std::int32_t source,
                  std::int32_t tag) {
  if (!take_right()) {
    rank.starving = true;  // nobody will ring
    rank.nap_ns = wait::nap_for_memory_ns;
    return;
  }
  if (is_listed(waiter)) {
    unlist_seeker(segment_, box_, waiter);
  }
  list_seeker(segment_, box_, waiter, context, source, tag);
  give_right_back();
}

void Engine::stop_seeking(node::Waiter& waiter) {
  if (!is_listed(waiter)) {
    return;
  }
  if (!take_right()) {
    waiter.sought_context.store(no_context, std::memory_order_relaxed);
    return;
  }
  unlist_seeker(segment_, box_, waiter);
  give_right_back();
}

}  // namespace meantime::match
