// What lies in mailboxes: messages and posted receives, in the segment.
//   Message    what a sender pushes: the envelope, and the payload or a description of where it is
//     eager        the payload is in the cell: the send is over, the receiver empties the cell
//     synchronous  the same, but the sender waits for the match (or, match/overflow.cpp, for a
//                  while)
//     rendezvous   the payload stays with the sender: a Transfer moves it once there is a match
//     notice       no message, but for the sender of one that was fetched: there is a match
//   Receive    a receive that its owner posted
//   cell       the memory of a Message; belongs to the sender's pool
//   match lock whoever holds a mailbox's match lock may touch its queues and what hangs in them
//
// Who may touch what: a sender writes a Message until it is pushed. Then the holder of the match
// lock has it, until the match; from there on it belongs to the receiver (eager: until it is given
// back through `returned`) or to both (rendezvous: see Transfer). A Receive belongs to the holder
// of the match lock until it is matched, then to whoever moves its `state`.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "copy/copy.h"
#include "match/awaited_word.h"
#include "node/layout.h"

namespace meantime::match {

using node::cache_line;
using node::Link;
using node::SleepLink;

/// By what a message and a receive find each other. A receive's may say MPI_ANY_SOURCE,
/// MPI_ANY_TAG.
struct Envelope {
  std::uint32_t context = 0;
  std::int32_t source = 0;  ///< rank in the communicator
  std::int32_t tag = 0;

  Envelope& envelope() { return *this; }
  bool operator==(const Envelope&) const = default;
};

/// Whether a receive that says `wanted` takes such a message.
inline bool takes(const Envelope& wanted, const Envelope& message) {
  return wanted.context == message.context &&
         (wanted.source == message.source || wanted.source == MPI_ANY_SOURCE) &&
         (wanted.tag == message.tag || wanted.tag == MPI_ANY_TAG);
}

enum class ItemKind : std::uint8_t { eager, synchronous, rendezvous, posted, notice };

/// States of a Receive (AwaitedWord).
///   posted ──► matched   the owner finds it on its attention list: its payload waits in the cell,
///      │                 or its owner is asked to take part in the transfer
///      ├─────► copying   somebody moves the payload, the owner need not do anything
///      ├─────► done      everything is there
///      └─────► cancelled
/// (matched and copying are bits: steps on the way are added.)
enum ReceiveState : std::uint32_t { posted = 0, matched = 1, copying = 3, done = 4, cancelled = 8 };
/// States of a Transfer: the sender's side of the same story. From `fetched` on the cell is the
/// sender's, and its receiver, which has copied all, sends a notice once there is a match
/// (match/spilled.h).
enum TransferState : std::uint32_t { offered = 0, moving = 1, delivered = 2, fetched = 4 };
/// Whether a Transfer is a pipe: since the match, or since a direct copy was not allowed any more.
enum Piped : std::uint32_t {
  not_piped = 0,
  from_the_start = 1,
  went_over = 2,
  by_wire = 3,
  by_network = 4
};
/// Of a Transfer, a mark beside its state: its sender has left MPI. Whoever delivers it has the
/// cell.
inline constexpr std::uint32_t orphaned = 0x80;

/// The beginning of both, so that one inbox can carry both.
struct Item : Envelope {
  ItemKind kind;
  std::uint8_t size_class;  ///< the cell is 2^size_class bytes
  std::uint16_t flags;
  std::atomic<Link> next;
};
inline constexpr std::uint16_t noticed = 1;   ///< a Message on its sender's attention list
inline constexpr std::uint16_t blocking = 2;  ///< its owner stays in MPI until it is done

inline constexpr std::uint16_t data_on_wire = 4;  ///< match/ways/test_wire.h

// Of eager messages: match/eager_ring.h.
inline constexpr std::uint16_t behind_ring = 8;  ///< others of its sender went through the ring
inline constexpr std::uint16_t in_hand = 16;     ///< in no cell
inline constexpr std::uint16_t adopted = 32;     ///< the cell is not its sender's
inline constexpr std::uint16_t spilled = 64;     ///< in_hand, in a copy (match/spilled.h)

inline constexpr std::uint16_t until_matched = 128;  ///< its send is not over before
inline constexpr std::uint16_t owes_notice = 256;  ///< in a copy: for its sender is `fetched_send`

/// Its sender is on another node, and the cell is its receiver's (match/ways/remote.h).
inline constexpr std::uint16_t from_elsewhere = 512;

inline constexpr std::size_t tiny_bytes = 16;
inline constexpr std::uint32_t pipe_parts = 4;  ///< that are filled and emptied in turn

struct alignas(cache_line) Message : Item {
  std::uint32_t origin;       ///< world rank of the sender
  std::uint32_t destination;  ///< world rank of the mailbox
  std::uint64_t bytes;
  char tiny[tiny_bytes];  ///< the payload if it fits
  /// Of an eager one whose copies are timed (route.h): what they took so far, from 1; else 0. The
  /// sender's until it is pushed, then the receiver's until the cell is given back.
  std::uint32_t copy_ns;
  std::uint32_t ring_before;  ///< how many, with behind_ring
  // The second line is touched only if the message is unexpected.
  alignas(cache_line) Link key_next;  ///< unexpected messages with the same hash
  Link key_previous;
  Link arrival_next;  ///< all unexpected messages in order of arrival
  Link arrival_previous;
  Link lane_next;  ///< those of the same sender
  Link lane_previous;
  std::uint32_t keeper;  ///< of an adopted one, or from elsewhere: whose the cell is, a world rank
  std::uint64_t fetched_send;  ///< with owes_notice, and of a notice: its LocalSend, for the sender

  char* payload_behind(std::size_t offset) { return reinterpret_cast<char*>(this) + offset; }

  /// Of an emptied cell on its way back: other cells that go with it, 0 behind the last if there is
  /// room. In the second line, which nobody needs any more.
  static constexpr std::size_t most_carried = cache_line / sizeof(Link);
  Link* carried() { return reinterpret_cast<Link*>(payload_behind(cache_line)); }
};
static_assert(sizeof(Message) == 2 * cache_line);

/// How a payload gets from the sender's memory to the receiver's.
///   direct   cross-memory attach (or memcpy inside a host) in fragments; receiver and sender, if
///            they are there, claim fragments from its two ends, so two cores share a large copy
///   piped    through a ring of chunks in the segment that the sender fills and the receiver
///            empties: for non-contiguous senders, and without cross-memory attach, or for the rest
///            of a copy where that ended half-way
///   by wire  direct, but in the three steps of a network (match/ways/test_wire.h): a test setting
///   by network  from another node (match/ways/remote.h)
/// Lifetime: `holders` counts who may still touch it besides its owner, the sender: one for the
/// bytes that are not there yet, one for a receiver that takes part. Only the last to leave says
/// `delivered`, and only then may the sender reuse the cell.
struct alignas(cache_line) Transfer {
  std::atomic<std::uint32_t> word;  ///< state() looks at it
  std::atomic<std::uint32_t> holders;
  std::atomic<SleepLink> sleep;  ///< of the sender, for it
  Link receive;
  std::uint64_t sender;               ///< the sender's LocalSend, for itself
  Link pipe;                          ///< made by the sender
  std::atomic<std::uint64_t> filled;  ///< bytes that the sender has put in …
  std::atomic<std::uint64_t> emptied;
  std::uint32_t pipe_bytes;             ///< a multiple of pipe_parts; known once any are filled
  std::atomic<std::uint32_t> piped;     ///< a Piped
  alignas(cache_line) copy::Copy copy;  ///< of the message, or what of it fits
  std::uint64_t due_ns;                 ///< by wire: when its next step arrives

  AwaitedWord awaited() { return {word, sleep}; }
  std::uint32_t state() const { return AwaitedWord::state_in(word); }
};

static_assert(sizeof(Transfer) == 2 * cache_line);

/// What a receive got.
struct Received {
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::int32_t error = MPI_SUCCESS;  ///< an MPI error class

  /// There is a match, with a message of so many bytes.
  void meet(const Envelope& message, std::uint64_t message_bytes, std::uint64_t capacity) {
    source = message.source;
    tag = message.tag;
    bytes = message_bytes < capacity ? message_bytes : capacity;
    error = message_bytes > capacity ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  }
};

struct alignas(cache_line) Receive : Item {
  std::uint32_t owner;              ///< world rank
  std::atomic<std::uint32_t> word;  ///< state() looks at it
  std::uint64_t order;              ///< of posting: decides between wildcards
  Link key_next;
  Link key_previous;
  std::uint64_t request;                      ///< the owner's LocalReceive, for itself
  alignas(cache_line) std::uint64_t address;  ///< 0: not contiguous
  std::uint64_t capacity;
  Link message;  ///< once matched
  std::atomic<SleepLink> sleep;
  Received received;
  std::atomic<std::uint32_t> directly;  ///< from buffer to buffer: since the match

  AwaitedWord awaited() { return {word, sleep}; }
  std::uint32_t state() const { return AwaitedWord::state_in(word); }
  /// There is a match; the message lies there, or nowhere.
  void meet(const Envelope& of_message, std::uint64_t bytes, Link there) {
    message = there;
    received.meet(of_message, bytes, capacity);
  }
};
static_assert(sizeof(Receive) == 2 * cache_line);

inline constexpr std::size_t eager_payload_offset = sizeof(Message);
inline constexpr std::size_t transfer_offset = sizeof(Message);
inline constexpr std::size_t synchronous_payload_offset = transfer_offset + sizeof(Transfer);

/// Of the cell of a message with a Transfer, before it is rounded to its class.
inline constexpr std::size_t offer_bytes(std::size_t payload_along) {
  return synchronous_payload_offset + (payload_along > tiny_bytes ? payload_along : 0);
}

inline Transfer& transfer_of(Message& message) {
  return *reinterpret_cast<Transfer*>(message.payload_behind(transfer_offset));
}
/// Where the payload of an eager or synchronous message lies.
inline char* payload_of(Message& message) {
  if (message.bytes <= tiny_bytes) {
    return message.tiny;
  }
  return message.payload_behind(message.kind == ItemKind::eager ? eager_payload_offset
                                                                : synchronous_payload_offset);
}

/// After a copy into or out of an eager message's cell. (The receiver writes to the sender's line
/// only if the copies of this one are timed.)
inline void note_copy(Message& message, const Stopwatch& stopwatch) {
  if (message.copy_ns != 0) {
    message.copy_ns += stopwatch.nanoseconds();
  }
}

}  // namespace meantime::match
