// The few calls of an owner that need its queues now: probe and cancel. Match locks are held for
// the length of a few list operations, so they wait for the holder, who has lost its core in
// between, perhaps. Not for one that is stopped (SIGSTOP, a debugger): then a probe finds nothing
// yet, and what is to be cancelled stays open until somebody looks whether it is complete; both
// sleeps only nap, because nobody rings when the holder goes on.
#include <mpi.h>

#include "base/pause.h"
#include "match/matcher.h"
#include "match/probers.h"
#include "node/process.h"

namespace meantime::match {

/// False: the holder is stopped, perhaps for ever.
bool Matcher::lock_own() {
  constexpr int quick_turns = 100;
  constexpr int turns_a_look = 64;
  for (int turn = 1; !try_lock(ground_.box); ++turn) {
    if (turn <= quick_turns) {
      wait::pause();
      continue;
    }
    wait::give_core_to_kernel();
    const std::uint32_t holder = ground_.box.match_lock.load(std::memory_order_relaxed);
    if (turn % turns_a_look == 0 && holder != 0 &&
        node::is_stopped(ground_.segment.area(static_cast<int>(holder) - 1))) {
      return false;
    }
  }
  return true;
}

void Matcher::unlock(node::Mailbox& box) {
  ground_.bells.only_note = false;
  if (ground_.is_thread_rank() && box.queues != 0) {
    box.posted.store(ground_.segment.at<Queues>(box.queues)->posted.entries,
                     std::memory_order_relaxed);
  }
  const bool own = &box == &ground_.box;
  if (own && box.queues != 0) {
    unexpected_ = ground_.segment.at<Queues>(box.queues)->unexpected.entries + spilled_.entries();
    posted_ = ground_.segment.at<Queues>(box.queues)->posted.entries;
  }
  if (own && box.sleepers.load(std::memory_order_relaxed) == 0) {
    // The owner, awake in all its threads: whoever pushes now leaves the matching to us anyway, and
    // we look again once we have counted ourselves among the sleepers.
    box.match_lock.store(0, std::memory_order_release);
  } else {
    box.match_lock.store(0, std::memory_order_seq_cst);
  }
}

/// After lock_own: and does what others have left to the holder.
void Matcher::unlock_and_drain() {
  unlock(ground_.box);
  drain(ground_.rank.world_rank);
}

void Matcher::cancel(LocalReceive& receive) {
  publish();
  drain(ground_.rank.world_rank);
  if (receive.over) {
    return;
  }
  if (lock_own()) {
    cancel_now(*receive.entry);
  } else if (!receive.to_cancel) {
    receive.to_cancel = true;
    ++cancels_;
  }
}

/// The match lock is held; it releases it.
void Matcher::cancel_now(Receive& receive) {
  QueueView queues = queues_of(ground_.box);
  settle(ground_.area, queues);
  empty_inbox(ground_.area, queues);  // the receive itself may still be in it
  if (receive.state() == posted) {
    queues.remove_receive(receive);
    transitions_.finish(receive, cancelled);
  }
  unlock_and_drain();
}

bool Matcher::try_to_cancel(LocalReceive& receive) {
  const bool open = receive.entry->state() == posted;
  if (open && !try_lock(ground_.box)) {
    return false;
  }
  receive.to_cancel = false;
  --cancels_;
  if (open) {
    cancel_now(*receive.entry);
  }
  return true;
}

Message* Matcher::probe(const Envelope& wanted, bool take) {
  if (!spilled_.empty()) [[unlikely]] {
    if (Message* const message = take ? take_spilled(wanted) : spilled_.find(wanted)) {
      return message;
    }
  }
  if (!lock_own()) {
    return nullptr;  // it is found later
  }
  QueueView queues = queues_of(ground_.box);
  settle(ground_.area, queues);
  empty_inbox(ground_.area, queues);
  Message* message = queues.find_message(wanted);
  if (message != nullptr && take) {
    queues.remove_message(*message);
  } else if (message != nullptr && wanted.source == MPI_ANY_SOURCE) {
    queues.show(*message);
  }
  unlock_and_drain();
  return message;
}

void Matcher::arm_probe(node::Waiter& waiter, const Envelope& wanted) {
  if (!lock_own()) {
    ground_.starve(wait::nap_for_memory_ns);  // nobody will ring
    return;
  }
  if (is_listed(waiter)) {
    unlist_prober(ground_.segment, ground_.box, waiter);
  }
  list_prober(ground_.segment, ground_.box, waiter, wanted);
  unlock_and_drain();
}

void Matcher::disarm_probe(node::Waiter& waiter) {
  if (!is_listed(waiter)) {
    return;
  }
  if (!lock_own()) {
    waiter.probed_context.store(no_context, std::memory_order_relaxed);
    return;
  }
  unlist_prober(ground_.segment, ground_.box, waiter);
  unlock_and_drain();
}

}  // namespace meantime::match
