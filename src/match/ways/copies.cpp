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

/// The receiver claims from the front, the sender from the back: so in buffers that are used again
/// each core finds its part in its own cache. (1 MiB to and fro: 43 us from one counter, 29 so.)
/// The word: how many from the front, and above them how many from the back; both may be counted
/// once more when nothing is left. (Relaxed: whose a fragment is, one word's own order says; that
/// its bytes are there, `finished`.)
std::optional<std::uint64_t> claim(Transfer& transfer, std::uint64_t fragments, bool as_receiver) {
  constexpr std::uint64_t one_from_back = std::uint64_t{1} << 32;
  const std::uint64_t before =
      transfer.claimed.fetch_add(as_receiver ? 1 : one_from_back, std::memory_order_relaxed);
  const std::uint64_t front = before % one_from_back;
  const std::uint64_t back = before / one_from_back;
  if (front + back >= fragments) {
    return std::nullopt;
  }
  return as_receiver ? front : fragments - 1 - back;
}

}  // namespace

Way::First Copies::begin(Message& message, Receive& receive) {
  Transfer& transfer = transfer_of(message);
  divide(transfer);
  const bool mine = ground_.is_me(receive.owner);
  const bool from_me = ground_.is_me(message.origin);
  if (from_me && !mine && transfer.destination_address != 0) {
    // Its owner computes or sleeps: the sender moves everything, and wakes it when all is there.
    transfer.holders.store(1, std::memory_order_relaxed);
    transitions_.begin_move(message);
    transitions_.begin_copy(receive);
    return First::sender;
  }
  // Only if we are the owner: else the sender could finish a receive that is still on its owner's
  // attention list.
  const bool shared =
      transfer.destination_address != 0 && transfer.bytes > transfer.fragment && mine && !from_me;
  transitions_.begin_shared(message, receive, shared);
  return First::receiver;
}

void Copies::divide(Transfer& transfer) const {
  transfer.fragment = std::max(
      least_fragment, std::min<std::uint64_t>(ground_.limits.fragment, transfer.bytes / 2));
}

void Copies::receive(Message& message, Receive& receive) {
  const std::uint64_t bytes = transfer_of(message).bytes;
  const auto origin = static_cast<int>(message.origin);  // afterwards the cell is its sender's
  const Stopwatch stopwatch(bytes > Route::medium_bytes && receive.address != 0);
  copy_fragments(message, true);
  transitions_.leave(message);
  if (const std::uint32_t took = stopwatch.nanoseconds();
      took != 0 && !ground_.in_one_address_space(origin)) {
    ground_.route.one_copy_took(bytes, took);
  }
}

void Copies::copy_fragments(Message& message, bool as_receiver) {
  Transfer& transfer = transfer_of(message);
  const std::uint64_t bytes = transfer.bytes;
  const std::uint64_t fragment = transfer.fragment;
  const std::uint64_t fragments = (bytes + fragment - 1) / fragment;
  for (;;) {
    const std::optional<std::uint64_t> number = claim(transfer, fragments, as_receiver);
    if (!number) {
      return;
    }
    const std::uint64_t begin = *number * fragment;
    const std::uint64_t now = std::min(fragment, bytes - begin);
    const Stopwatch stopwatch(bytes <= ground_.limits.medium);
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
    if (bytes <= ground_.limits.medium) {
      transfer.copy_ns.fetch_add(stopwatch.nanoseconds(), std::memory_order_relaxed);
    }
    // acq_rel: who completes the sum has seen all the others' bytes.
    if (transfer.finished.fetch_add(now, std::memory_order_acq_rel) + now == bytes) {
      bytes_are_there(message);
      return;
    }
  }
}

int Copies::copy_to_pieces(Message& message, std::uint64_t begin, std::size_t bytes) {
  Transfer& transfer = transfer_of(message);
  constexpr std::size_t step = 64 * 1024;  // stays in the core's own cache until it is unpacked
  bounce_.resize(step);
  const LocalReceive& to = local(*ground_.segment.at<Receive>(transfer.receive));
  for (std::size_t offset = 0; offset < bytes; offset += step) {
    const std::size_t now = std::min(step, bytes - offset);
    if (const int error = node::read_from(static_cast<int>(message.origin), bounce_.data(),
                                          transfer.source_address + begin + offset, now)) {
      return error;
    }
    ground_.typed.unpack(to, begin + offset, bounce_.data(), now);
  }
  return 0;
}

void Copies::bytes_are_there(Message& message) {
  Transfer& transfer = transfer_of(message);
  auto& receive = *ground_.segment.at<Receive>(transfer.receive);
  if (const int error = transfer.error.load(std::memory_order_relaxed); error != 0) {
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
