#include "match/ways/pipes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace meantime::match {

void Pipes::prepare() {
  spare_ = ground_.pool.allocate(spare_bytes);
}

Way::First Pipes::begin(Message& message, Receive& receive) {
  transitions_.begin_shared(message, receive, true);
  ground_.bells.ring_rank(static_cast<int>(message.origin));
  return First::receiver;
}

void Pipes::receive(Message&, Receive& receive) {
  in_.push_back(&receive);
}

void Pipes::send(Message& message) {
  out_.push_back(&message);
}

/// The bytes' hold stays; the receiver gets one for taking part. All is settled, so both find the
/// same rest.
void Pipes::take_over(Message& message, Receive& receive) {
  Transfer& transfer = transfer_of(message);
  transfer.copy.error.store(0, std::memory_order_relaxed);
  transfer.holders.fetch_add(1, std::memory_order_relaxed);
  receive.directly.store(0, std::memory_order_relaxed);
  transfer.piped.store(went_over, std::memory_order_release);
  const auto origin = static_cast<int>(message.origin);
  ground_.segment.area(origin).mailbox.rescan.store(1, std::memory_order_release);
  if (ground_.is_me(receive.owner)) {
    in_.push_back(&receive);
  } else {
    transitions_.push_attention(receive);
  }
  ground_.bells.ring_rank(origin);
}

void Pipes::go_on(const LocalSend& send) {
  if (send.message == nullptr) {
    return;
  }
  const Transfer& transfer = transfer_of(*send.message);
  if (transfer.piped.load(std::memory_order_acquire) == went_over &&
      std::find(out_.begin(), out_.end(), send.message) == out_.end() &&
      transfer.filled.load() == 0) {
    out_.push_back(send.message);
  }
}

void Pipes::forget(Message& message) {
  if (Transfer& transfer = transfer_of(message); transfer.pipe != 0) {
    release(transfer);
    std::erase(out_, &message);
  }
}

void Pipes::time(const Receive& receive) {
  timed_ = &receive;
  timed_began_ = now_ns();
}

bool Pipes::progress() {
  bool moved = false;
  no_memory_ = false;
  moving_ = true;
  std::erase_if(out_, [&](Message* message) {
    moved |= fill(*message);
    // Until it is emptied, not until the send's owner asks: a window of a thousand would have a
    // thousand pipes, and the one that is waited for none. (The receiver says so after its copy.)
    Transfer& transfer = transfer_of(*message);
    const bool over =
        transfer.emptied.load(std::memory_order_acquire) == transfer.copy.rest_bytes();
    if (over) {
      release(transfer);
      moved = true;
    }
    return over;
  });
  std::erase_if(in_, [&](Receive* receive) {
    Message& message = *ground_.segment.at<Message>(receive->message);
    moved |= empty(*receive);
    Transfer& transfer = transfer_of(message);
    if (transfer.emptied.load(std::memory_order_relaxed) != transfer.copy.rest_bytes()) {
      return false;
    }
    if (receive == timed_) {
      ground_.route.two_copies_took(transfer.copy.bytes, now_ns() - timed_began_);
      timed_ = nullptr;
    }
    transitions_.finish(*receive, done);
    transitions_.leave(message);  // the bytes are there …
    transitions_.leave(message);  // … and the receiver is done with it
    return true;
  });
  moving_ = false;
  return moved;
}

/// No larger than what goes through it. A small one is better than none, and where nothing is free
/// there is still the rank's own.
bool Pipes::make(Transfer& transfer) {
  const auto wanted = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      std::bit_ceil(transfer.copy.rest_bytes()), 2 * spare_bytes, ground_.limits.pipe_bytes));
  const std::uint32_t least = std::min(wanted, least_bytes);
  for (std::uint32_t bytes = wanted; transfer.pipe == 0 && bytes >= least; bytes /= 4) {
    transfer.pipe = ground_.pool.allocate(bytes);
    transfer.pipe_bytes = bytes;
  }
  if (transfer.pipe == 0) {
    transfer.pipe = memory_.search(least);
    transfer.pipe_bytes = least;
  }
  if (transfer.pipe == 0) {
    transfer.pipe = std::exchange(spare_, 0);
    transfer.pipe_bytes = spare_bytes;
  }
  no_memory_ = no_memory_ || transfer.pipe == 0;
  return transfer.pipe != 0;
}

void Pipes::release(Transfer& transfer) {
  if (transfer.pipe_bytes == spare_bytes) {
    spare_ = transfer.pipe;
  } else {
    ground_.pool.release(transfer.pipe, transfer.pipe_bytes);
  }
  transfer.pipe = 0;
}

bool Pipes::fill(Message& message) {
  Transfer& transfer = transfer_of(message);
  if (transfer.pipe == 0 && !make(transfer)) {
    return false;  // again at the next turn: others give memory back
  }
  const std::uint64_t capacity = transfer.pipe_bytes;
  const std::uint64_t part = capacity / pipe_parts;
  char* const pipe = ground_.segment.at<char>(transfer.pipe);
  bool moved = false;
  for (;;) {
    const std::uint64_t filled = transfer.filled.load(std::memory_order_relaxed);
    const std::uint64_t room =
        capacity - (filled - transfer.emptied.load(std::memory_order_acquire));
    const std::uint64_t place = filled % capacity;
    const copy::Stretch next = transfer.copy.rest_at(filled);
    const std::uint64_t now = std::min({part - place % part, room, next.bytes});
    if (now == 0) {
      return moved;
    }
    ground_.typed.pack(local(transfer), next.begin, pipe + place, now);
    transfer.filled.store(filled + now, std::memory_order_release);
    wait::ring_rank(static_cast<int>(message.destination));
    moved = true;
  }
}

bool Pipes::empty(Receive& receive) {
  Message& message = *ground_.segment.at<Message>(receive.message);
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
    const copy::Stretch next = transfer.copy.rest_at(emptied);
    const std::uint64_t now = std::min({part - place % part, there, next.bytes});
    const char* const from = ground_.segment.at<char>(transfer.pipe) + place;
    if (receive.address != 0) {
      std::memcpy(reinterpret_cast<void*>(receive.address + next.begin), from, now);
    } else {
      ground_.typed.unpack(local(receive), next.begin, from, now);
    }
    transfer.emptied.store(emptied + now, std::memory_order_release);
    wait::ring_rank(static_cast<int>(message.origin));
    moved = true;
  }
}

}  // namespace meantime::match
