#include "match/ways/copies.h"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/clock.h"
#include "node/cross_memory.h"

namespace meantime::match {
namespace {

bool not_allowed(int error) {
  return error == EPERM || error == ENOSYS || error == EACCES;
}

}  // namespace

Way::First Copies::begin(Message& message, Receive& receive) {
  Transfer& transfer = transfer_of(message);
  divide(transfer);
  const bool mine = ground_.is_me(receive.owner);
  const bool from_me = ground_.is_me(message.origin);
  if (from_me && !mine && transfer.copy.destination_address != 0) {
    // Its owner computes or sleeps: the sender moves everything, and wakes it when all is there.
    transfer.holders.store(1, std::memory_order_relaxed);
    transitions_.begin_move(message);
    transitions_.begin_copy(receive);
    return First::sender;
  }
  // Only if we are the owner: else the sender could finish a receive that is still on its owner's
  // attention list.
  const bool shared =
      transfer.copy.destination_address != 0 && transfer.copy.fragments() > 1 && mine && !from_me;
  transitions_.begin_shared(message, receive, shared);
  return First::receiver;
}

void Copies::divide(Transfer& transfer) const {
  transfer.copy.divide(std::max(
      least_fragment, std::min<std::uint64_t>(ground_.limits.fragment, transfer.copy.bytes / 2)));
}

void Copies::receive(Message& message, Receive& receive) {
  const std::uint64_t bytes = transfer_of(message).copy.bytes;
  const auto origin = static_cast<int>(message.origin);  // afterwards the cell is its sender's
  const Stopwatch stopwatch(bytes > Route::medium_bytes && receive.address != 0);
  copy_fragments(message, true);
  transitions_.leave(message);
  if (const std::uint32_t took = stopwatch.nanoseconds();
      took != 0 && !ground_.in_one_address_space(origin)) {
    ground_.route.one_copy_took(bytes, took);
  }
}

/// The receiver from the front, the sender from the back.
void Copies::copy_fragments(Message& message, bool as_receiver) {
  copy::Copy& copy = transfer_of(message).copy;
  const copy::Order order = as_receiver ? copy::Order::from_front : copy::Order::from_back;
  while (const std::optional<std::uint32_t> fragment = copy.claim(order)) {
    const bool timed = copy.bytes <= ground_.limits.medium;
    const Stopwatch stopwatch(timed);
    int error = copy.error.load(std::memory_order_relaxed);  // then it is counted off, not moved
    if (error == 0) {
      error = move(message, copy.fragment(*fragment), as_receiver);
    }
    if (timed) {
      copy.took_ns.fetch_add(stopwatch.nanoseconds(), std::memory_order_relaxed);
    }
    if (copy.settle(*fragment, error)) {
      bytes_are_there(message);
      return;
    }
  }
}

/// 0, or an errno.
int Copies::move(Message& message, const copy::Stretch& part, bool as_receiver) {
  const copy::Copy& copy = transfer_of(message).copy;
  const std::uint64_t source = copy.source_address + part.begin;
  const std::uint64_t destination = copy.destination_address + part.begin;
  if (!as_receiver) {
    return node::write_to(static_cast<int>(message.destination), destination,
                          reinterpret_cast<const void*>(source), part.bytes);
  }
  if (copy.destination_address != 0) {
    return node::read_from(static_cast<int>(message.origin), reinterpret_cast<void*>(destination),
                           source, part.bytes);
  }
  return move_to_pieces(message, part);
}

int Copies::move_to_pieces(Message& message, const copy::Stretch& part) {
  Transfer& transfer = transfer_of(message);
  constexpr std::size_t step = 64 * 1024;  // stays in the core's own cache until it is unpacked
  bounce_.resize(step);
  const LocalReceive& to = local(*ground_.segment.at<Receive>(transfer.receive));
  for (std::size_t offset = 0; offset < part.bytes; offset += step) {
    const std::size_t now = std::min(step, part.bytes - offset);
    if (const int error =
            node::read_from(static_cast<int>(message.origin), bounce_.data(),
                            transfer.copy.source_address + part.begin + offset, now)) {
      return error;
    }
    ground_.typed.unpack(to, part.begin + offset, bounce_.data(), now);
  }
  return 0;
}

void Copies::bytes_are_there(Message& message) {
  Transfer& transfer = transfer_of(message);
  auto& receive = *ground_.segment.at<Receive>(transfer.receive);
  if (const int error = transfer.copy.error.load(std::memory_order_relaxed); error != 0) {
    // EFAULT: memory that only its own process can reach (memfd_secret, a device's) goes by the
    // pipe as well, that message only. An address that is wrong ends its process there, as
    // elsewhere.
    if (not_allowed(error) || error == EFAULT) {
      if (error != EFAULT) {
        ground_.segment.header().cross_memory_off.store(1, std::memory_order_relaxed);
      }
      pipes_.take_over(message, receive);
      return;
    }
    receive.received.error = MPI_ERR_BUFFER;
  }
  transitions_.finish(receive, done);
  transitions_.leave(message);
}

}  // namespace meantime::match
