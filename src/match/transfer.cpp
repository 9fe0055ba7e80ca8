// Moving payloads: eager ones out of their cell, large ones directly or through a pipe.
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "match/engine.h"
#include "node/cross_memory.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::match {
namespace {

LocalReceive& local(Receive& receive) {
  return *reinterpret_cast<LocalReceive*>(receive.request);
}
LocalSend& local(Transfer& transfer) {
  return *reinterpret_cast<LocalSend*>(transfer.sender);
}

bool not_allowed(int error) {
  return error == EPERM || error == ENOSYS || error == EACCES;
}

}  // namespace

void Engine::finish(Receive& receive, ReceiveState final_state) {
  wake(receive.awaited().become(final_state).sleep);
}

void Engine::deliver(Message& message) {
  Transfer& transfer = transfer_of(message);
  const auto origin = static_cast<int>(message.origin);
  const AwaitedWord::Changed changed = transfer.awaited().become(delivered);
  wake(changed.sleep);
  if ((changed.before & orphaned) != 0) [[unlikely]] {
    give_back(message);
    return;
  }
  memory_is_back(origin);
}

/// One holder less. The last one says so to the sender and must not touch the message any more.
void Engine::leave(Message& message) {
  if (transfer_of(message).holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    deliver(message);
  }
}

/// By the owner: the payload of an eager or synchronous message to where the user wants it.
void Engine::deliver_eager(Message& message, Receive& receive) {
  const std::size_t bytes = receive.matched_bytes;
  const Stopwatch stopwatch(message.copy_ns != 0);
  if (receive.address != 0) {
    std::memcpy(reinterpret_cast<void*>(receive.address), payload_of(message), bytes);
  } else if (bytes > 0) {
    typed_.unpack(local(receive), 0, payload_of(message), bytes);
  }
  note_copy(message, stopwatch);
  const bool eager = message.kind == ItemKind::eager;
  // Matched by its owner: until the state is final nobody else touches it, so no compare-and-swap.
  wake(receive.awaited().become_alone(done));  // another thread of this rank
  if (eager) {
    give_back(message);
  } else {
    deliver(message);
  }
}

/// The owner is asked to take part: it finds the receive on its attention list.
void Engine::call_for_owner(Receive& receive) {
  const auto owner = static_cast<int>(receive.owner);
  receive.awaited().add(matched);
  segment_.area(owner).mailbox.attention.push(segment_.link(&receive), receive.next);
  wake_rank(owner);
}

/// The sender is asked to take part. Before the transfer's state says `moving`, so that a sender
/// that sees it delivered knows whether the message is on its list.
void Engine::notice_sender(Message& message) {
  message.flags |= noticed;
  segment_.area(static_cast<int>(message.origin))
      .mailbox.attention.push(segment_.link(&message), message.next);
}

void Engine::copy_fragments(Message& message, bool as_receiver) {
  Transfer& transfer = transfer_of(message);
  const std::uint64_t bytes = transfer.bytes;
  const std::uint64_t fragment = transfer.fragment;
  for (;;) {
    const std::uint64_t begin = transfer.claimed.fetch_add(fragment, std::memory_order_relaxed);
    if (begin >= bytes) {
      return;
    }
    const std::uint64_t now = std::min(fragment, bytes - begin);
    const Stopwatch stopwatch(bytes <= limits.medium);
    int error = 0;
    if (transfer.error.load(std::memory_order_relaxed) != 0) {
      // All of it will go another way: what is left is counted off, not copied.
    } else if (!as_receiver) {
      error = node::write_to(static_cast<int>(message.destination),
                             transfer.destination_address + begin,
                             reinterpret_cast<const void*>(transfer.source_address + begin), now);
    } else if (transfer.destination_address != 0) {
      error = node::read_from(static_cast<int>(message.origin),
                              reinterpret_cast<void*>(transfer.destination_address + begin),
                              transfer.source_address + begin, now);
    } else {
      error = copy_to_pieces(message, begin, now);
    }
    if (error != 0) {
      std::int32_t none = 0;
      transfer.error.compare_exchange_strong(none, error, std::memory_order_relaxed);
    }
    if (bytes <= limits.medium) {
      transfer.copy_ns.fetch_add(stopwatch.nanoseconds(), std::memory_order_relaxed);
    }
    // acq_rel: who completes the sum has seen all the others' bytes.
    if (transfer.finished.fetch_add(now, std::memory_order_acq_rel) + now == bytes) {
      bytes_are_there(message);
      return;
    }
  }
}

int Engine::copy_to_pieces(Message& message, std::uint64_t begin, std::size_t bytes) {
  Transfer& transfer = transfer_of(message);
  constexpr std::size_t step = 64 * 1024;  // stays in the core's own cache until it is unpacked
  bounce_.resize(step);
  const LocalReceive& to = local(*segment_.at<Receive>(transfer.receive));
  for (std::size_t offset = 0; offset < bytes; offset += step) {
    const std::size_t now = std::min(step, bytes - offset);
    if (const int error = node::read_from(static_cast<int>(message.origin), bounce_.data(),
                                          transfer.source_address + begin + offset, now)) {
      return error;
    }
    typed_.unpack(to, begin + offset, bounce_.data(), now);
  }
  return 0;
}

void Engine::bytes_are_there(Message& message) {
  Transfer& transfer = transfer_of(message);
  auto& receive = *segment_.at<Receive>(transfer.receive);
  if (const int error = transfer.error.load(std::memory_order_relaxed); error != 0) {
    // EFAULT: memory that only its own process can reach (memfd_secret, a device's) goes by the
    // pipe as well, that message only. An address that is wrong ends its process there, as
    // elsewhere.
    if (not_allowed(error) || error == EFAULT) {
      if (error != EFAULT) {
        segment_.header().cross_memory_off.store(1, std::memory_order_relaxed);
      }
      go_on_piped(message, receive);
      return;
    }
    receive.error = MPI_ERR_BUFFER;
  }
  set_done(receive);
  leave(message);
}

/// Cross-memory attach did not work to the end: the whole payload once more, piped.
/// The bytes' hold stays; the receiver gets one for taking part.
void Engine::go_on_piped(Message& message, Receive& receive) {
  Transfer& transfer = transfer_of(message);
  transfer.error.store(0, std::memory_order_relaxed);
  transfer.holders.fetch_add(1, std::memory_order_relaxed);
  receive.directly.store(0, std::memory_order_relaxed);
  transfer.piped.store(went_over, std::memory_order_release);
  const auto origin = static_cast<int>(message.origin);
  segment_.area(origin).mailbox.rescan.store(1, std::memory_order_release);
  if (receive.owner == static_cast<std::uint32_t>(rank.world_rank)) {
    pipes_in_.push_back(&receive);
  } else {
    segment_.area(static_cast<int>(receive.owner))
        .mailbox.attention.push(segment_.link(&receive), receive.next);
    wake_rank(static_cast<int>(receive.owner));
  }
  wake_rank(origin);
}

/// By the owner, without a right.
void Engine::take_part(Receive& receive) {
  Message& message = *segment_.at<Message>(receive.message);
  if (message.kind != ItemKind::rendezvous) {
    deliver_eager(message, receive);
    return;
  }
  if (receive.state() == matched) {
    // Called by another rank, which moves nothing itself. A receive that we matched ourselves is
    // `copying` already, or, by the sender's doing, `done`.
    receive.awaited().add(copying);
  }
  switch (transfer_of(message).piped.load(std::memory_order_acquire)) {
    case from_the_start:
      pipes_in_.push_back(&receive);
      return;
    case went_over:  // all fragments are claimed; as a pipe it comes by the attention list
      leave(message);
      return;
    case by_wire:
      put_on_wire(receive);
      return;
    default:
      break;
  }
  const std::uint64_t bytes = transfer_of(message).bytes;
  const auto origin = static_cast<int>(message.origin);  // afterwards the cell is its sender's
  const Stopwatch stopwatch(bytes > Route::medium_bytes && receive.address != 0);
  copy_fragments(message, true);
  leave(message);
  if (const std::uint32_t took = stopwatch.nanoseconds();
      took != 0 && !in_one_address_space(origin)) {
    route_.one_copy_took(bytes, took);
  }
}

bool Engine::attend() {
  Link link = box_.attention.take_all();
  const bool moved = link != 0;
  while (link != 0) {
    auto* item = segment_.at<Item>(link);
    link = item->next.load(std::memory_order_relaxed);
    if (item->kind == ItemKind::posted) {
      auto& receive = static_cast<Receive&>(*item);
      auto& message = *segment_.at<Message>(receive.message);
      if (message.kind == ItemKind::rendezvous && transfer_of(message).piped.load() == went_over) {
        pipes_in_.push_back(&receive);
      } else {
        take_part(receive);
      }
      continue;
    }
    auto& message = static_cast<Message&>(*item);
    Transfer& transfer = transfer_of(message);
    local(transfer).attended = true;
    if (transfer.state() == delivered) {
      continue;
    }
    switch (transfer.piped.load(std::memory_order_acquire)) {
      case from_the_start:
        pipes_out_.push_back(&message);
        break;
      case went_over:  // rescan_offers finds it, whether or not it was on this list
        break;
      case by_wire:
        put_on_wire(message);
        break;
      default:
        copy_fragments(message, false);
        break;
    }
  }
  return moved;
}

/// Rare (see go_on_piped): finds the sends that have to go on as pipes and do not yet.
void Engine::rescan_offers() {
  for_each_peer([&](const Peer& to) {
    for (LocalSend* send : {to.offered.front(), to.left_behind.front()}) {
      for (; send != nullptr; send = send->next) {
        if (send->message != nullptr &&
            transfer_of(*send->message).piped.load(std::memory_order_acquire) == went_over &&
            std::find(pipes_out_.begin(), pipes_out_.end(), send->message) == pipes_out_.end() &&
            transfer_of(*send->message).filled.load() == 0) {
          pipes_out_.push_back(send->message);
        }
      }
    }
  });
}

bool Engine::move_pipes() {
  bool moved = false;
  no_pipe_ = false;
  moves_pipes_ = true;
  std::erase_if(pipes_out_, [&](Message* message) {
    moved |= fill_pipe(*message);
    // Until it is emptied, not until the send's owner asks: a window of a thousand would have a
    // thousand pipes, and the one that is waited for none. (The receiver says so after its copy.)
    Transfer& transfer = transfer_of(*message);
    const bool over = transfer.emptied.load(std::memory_order_acquire) == transfer.bytes;
    if (over) {
      release_pipe(transfer);
      moved = true;
    }
    return over;
  });
  std::erase_if(pipes_in_, [&](Receive* receive) {
    Message& message = *segment_.at<Message>(receive->message);
    moved |= empty_pipe(*receive);
    Transfer& transfer = transfer_of(message);
    if (transfer.emptied.load(std::memory_order_relaxed) != transfer.bytes) {
      return false;
    }
    if (receive == timed_pipe_) {
      route_.two_copies_took(transfer.bytes, now_ns() - timed_pipe_began_);
      timed_pipe_ = nullptr;
    }
    set_done(*receive);
    leave(message);  // the bytes are there …
    leave(message);  // … and the receiver is done with it
    return true;
  });
  moves_pipes_ = false;
  return moved;
}

/// No larger than what goes through it. A small one is better than none, and where nothing is free
/// there is still the rank's own.
bool Engine::make_pipe(Transfer& transfer) {
  const auto wanted = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      std::bit_ceil(transfer.bytes), 2 * spare_pipe_bytes, limits.pipe_bytes));
  const std::uint32_t least = std::min(wanted, least_pipe_bytes);
  for (std::uint32_t bytes = wanted; transfer.pipe == 0 && bytes >= least; bytes /= 4) {
    transfer.pipe = pool.allocate(bytes);
    transfer.pipe_bytes = bytes;
  }
  if (transfer.pipe == 0) {
    transfer.pipe = find_memory(least);
    transfer.pipe_bytes = least;
  }
  if (transfer.pipe == 0) {
    transfer.pipe = std::exchange(spare_pipe_, 0);
    transfer.pipe_bytes = spare_pipe_bytes;
  }
  no_pipe_ = no_pipe_ || transfer.pipe == 0;
  return transfer.pipe != 0;
}

void Engine::release_pipe(Transfer& transfer) {
  if (transfer.pipe_bytes == spare_pipe_bytes) {
    spare_pipe_ = transfer.pipe;
  } else {
    pool.release(transfer.pipe, transfer.pipe_bytes);
  }
  transfer.pipe = 0;
}

bool Engine::fill_pipe(Message& message) {
  Transfer& transfer = transfer_of(message);
  if (transfer.pipe == 0 && !make_pipe(transfer)) {
    return false;  // again at the next turn: others give memory back
  }
  const std::uint64_t capacity = transfer.pipe_bytes;
  const std::uint64_t part = capacity / pipe_parts;
  char* const pipe = segment_.at<char>(transfer.pipe);
  bool moved = false;
  for (;;) {
    const std::uint64_t filled = transfer.filled.load(std::memory_order_relaxed);
    const std::uint64_t room =
        capacity - (filled - transfer.emptied.load(std::memory_order_acquire));
    const std::uint64_t place = filled % capacity;
    const std::uint64_t now = std::min({part - place % part, room, transfer.bytes - filled});
    if (now == 0) {
      return moved;
    }
    if (const LocalSend& send = local(transfer); send.kept != nullptr) {
      std::memcpy(pipe + place, send.kept.get() + filled, now);
    } else {
      typed_.pack(send, filled, pipe + place, now);
    }
    transfer.filled.store(filled + now, std::memory_order_release);
    wait::ring_rank(static_cast<int>(message.destination));
    moved = true;
  }
}

bool Engine::empty_pipe(Receive& receive) {
  Message& message = *segment_.at<Message>(receive.message);
  Transfer& transfer = transfer_of(message);
  bool moved = false;
  for (;;) {
    const std::uint64_t emptied = transfer.emptied.load(std::memory_order_relaxed);
    const std::uint64_t there = transfer.filled.load(std::memory_order_acquire) - emptied;
    if (there == 0) {
      return moved;
    }
    const std::uint64_t part = transfer.pipe_bytes / pipe_parts;
    const std::uint64_t place = emptied % transfer.pipe_bytes;
    const std::uint64_t now = std::min(part - place % part, there);
    const char* const from = segment_.at<char>(transfer.pipe) + place;
    if (receive.address != 0) {
      std::memcpy(reinterpret_cast<void*>(receive.address + emptied), from, now);
    } else {
      typed_.unpack(local(receive), emptied, from, now);
    }
    transfer.emptied.store(emptied + now, std::memory_order_release);
    wait::ring_rank(static_cast<int>(message.origin));
    moved = true;
  }
}

bool Engine::progress() {
  bool moved = false;
  if (!box_.inbox.empty() || express_waits(area_)) {
    moved = drain(rank.world_rank);
    after_drain();
  }
  if (!box_.attention.empty()) {
    moved |= attend();
  }
  if (box_.rescan.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    box_.rescan.exchange(0, std::memory_order_seq_cst);  // what is asked for from now on: again
    rescan_offers();
  }
  if (!pipes_out_.empty() || !pipes_in_.empty()) [[unlikely]] {
    moved |= move_pipes();
  }
  if ((deferred_ | patient_ | steps_on_wire_ | (wanting_ ? 1 : 0)) != 0) [[unlikely]] {
    moved |= make_room();
    moved |= deferred_ != 0 && send_deferred();
    moved |= take_from_wire();
    if (wanting_ && deferred_ == 0 && lacking_ == 0 && !no_pipe_) {
      end_of_want();
    }
  }
  if (moved) {
    idle_turns_ = 0;
  } else if (++idle_turns_ == idle_before_flush) {
    idle_turns_ = 0;
    let_go();
  }
  return moved;
}

}  // namespace meantime::match
