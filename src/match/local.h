// What a rank keeps for itself of its sends and receives, and of each rank that it sends to.
// Private to the rank, its lock held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "match/credit.h"
#include "match/items.h"
#include "net/network.h"

namespace meantime::match {

/// A send that is not over at once, at its sender.
struct LocalSend : Envelope {
  int destination = 0;  ///< world rank
  std::uint64_t bytes = 0;
  const char* contiguous = nullptr;  ///< where the data lies in one run, or nullptr
  bool synchronous = false;
  bool blocking = false;       ///< its call returns only when it is done
  Message* message = nullptr;  ///< once pushed
  bool attended = false;       ///< popped from the attention list
  bool overflowed = false;     ///< its send is over, unread: the engine's, on its peer's list
  std::uint64_t awaits_credit_since_ns = 0;  ///< of one beyond its credit (overflow.cpp), else 0
  bool matched = false;                      ///< a notice says so, of one that was fetched
  node::SleepLink sleep = 0;  ///< armed for that notice, which the rank itself hears; its lock held
  bool directly = false;      ///< of one that is done: from buffer to buffer
  bool done = false;          ///< the payload is out of the sender's hands, the cell is free again
  int error = 0;              ///< MPI error class
  LocalSend* next = nullptr;  ///< of the list that it is on (SendList)
  LocalSend* previous = nullptr;
};

/// Sends to one rank, in order. A send is on one list at most, and the list takes no memory: a rank
/// may send to a thousand others.
class SendList {
 public:
  bool empty() const { return first_ == nullptr; }
  LocalSend* front() const { return first_; }
  void push_back(LocalSend& send) { put_in(send, last_, nullptr); }
  void push_front(LocalSend& send) { put_in(send, nullptr, first_); }
  void erase(LocalSend& send) {
    (send.previous != nullptr ? send.previous->next : first_) = send.next;
    (send.next != nullptr ? send.next->previous : last_) = send.previous;
    send.next = send.previous = nullptr;
  }
  /// `function` may erase its own.
  template <class Function>
  void for_each(Function function) const {
    for (LocalSend* send = first_; send != nullptr;) {
      LocalSend* const next = send->next;
      function(*send);
      send = next;
    }
  }

 private:
  void put_in(LocalSend& send, LocalSend* previous, LocalSend* next) {
    send.previous = previous;
    send.next = next;
    (previous != nullptr ? previous->next : first_) = &send;
    (next != nullptr ? next->previous : last_) = &send;
  }

  LocalSend* first_ = nullptr;
  LocalSend* last_ = nullptr;
};

/// A receive, at its owner.
struct LocalReceive : Envelope {
  std::uint64_t address = 0;  ///< where the data shall lie in one run, or 0
  std::uint64_t capacity = 0;
  bool blocking = false;         ///< its call returns only when it is done
  bool looks_elsewhere = false;  ///< its message may come from another node …
  bool may_be_first = false;     ///< … and be the first that its sender sends here

  Receive* entry = nullptr;  ///< what others see of it, or will; until it is found to be over
  bool is_private = false;   ///< nobody else sees it: the entry says nothing yet
  bool to_cancel = false;    ///< as soon as the match lock can be had
  bool over = false;         ///< and what follows says how it ended
  bool was_cancelled = false;
  bool directly = false;  ///< from buffer to buffer
  Received received;
};

struct EagerRing;

/// What a rank has lying at another one, and what waits for it there.
struct Peer : Credit::Account {
  static constexpr std::uint32_t never = ~std::uint32_t{0};

  /// There is one, or may be one later.
  bool takes_ring() const { return ring != nullptr || until_ring != never; }

  EagerRing* ring = nullptr;
  std::uint32_t ring_taken = 0;  ///< as last seen
  std::uint32_t until_ring = 0;  ///< short messages so far; never: there will be none
  bool elsewhere = false;        ///< on another node; looked at with each send, as what is above
  SendList waiting;              ///< for credit
  SendList offered;              ///< until they are found to be over: Account::offers of them
  SendList overflowed;           ///< … though nobody waits for that; owned

  // Of such a rank (match/ways/remote.h):
  bool is_creditor = false;       ///< on the list of those
  bool is_known = false;          ///< one of the two has sent the other something
  bool told_goodbye = false;      ///< by this rank …
  bool has_left = false;          ///< … and by it
  std::uint32_t sent = 0;         ///< messages to it
  std::uint32_t heard = 0;        ///< … and from it, that were taken
  std::uint32_t left_behind = 0;  ///< … that it had sent when it left; some may come later
  std::uint32_t owed = 0;         ///< credit, in bytes
};

/// The other ranks, by world rank.
class Peers {
 public:
  explicit Peers(int ranks)
      : ranks_(ranks),
        blocks_((static_cast<std::size_t>(ranks) + peers_a_block - 1) / peers_a_block) {}

  ~Peers() {
    for_each([](Peer& to) { to.overflowed.for_each([](LocalSend& send) { delete &send; }); });
  }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  Peer& operator[](int world_rank) {
    const auto index = static_cast<std::size_t>(world_rank);
    std::unique_ptr<Block>& block = blocks_[index / peers_a_block];
    if (block == nullptr) [[unlikely]] {
      block = std::make_unique<Block>();
      if (net::network() != nullptr) {
        mark_elsewhere(*block, index / peers_a_block * peers_a_block);
      }
    }
    return (*block)[index % peers_a_block];
  }
  template <class Function>
  void for_each(Function function) {
    for (const std::unique_ptr<Block>& block : blocks_) {
      if (block != nullptr) {
        std::for_each(block->begin(), block->end(), function);
      }
    }
  }
  /// Each that there may have been something with, and its world rank, until `visit` says true. The
  /// rank of that one, or -1.
  template <class Visit>
  int until(Visit visit) {
    for (std::size_t index = 0; index < blocks_.size(); ++index) {
      for (std::size_t place = 0; blocks_[index] != nullptr && place < peers_a_block; ++place) {
        const auto world_rank = static_cast<int>(index * peers_a_block + place);
        if (visit(world_rank, (*blocks_[index])[place])) {
          return world_rank;
        }
      }
    }
    return -1;
  }

 private:
  /// Most ranks send to few others, and a word of each for each were 8 MB in a host of a thousand.
  static constexpr std::size_t peers_a_block = 16;
  using Block = std::array<Peer, peers_a_block>;

  void mark_elsewhere(Block& block, std::size_t first) const {
    const std::size_t end = std::min(peers_a_block, static_cast<std::size_t>(ranks_) - first);
    for (std::size_t place = 0; place < end; ++place) {
      if (net::network()->is_elsewhere(static_cast<int>(first + place))) {
        block[place].elsewhere = true;
        block[place].until_ring = Peer::never;
      }
    }
  }

  const int ranks_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

/// The core's side: what the engine cannot know, because it knows no datatypes.
struct Typed {
  /// Bytes [offset, offset + bytes) of the send's packed stream.
  void (*pack)(const LocalSend& send, std::size_t offset, void* to, std::size_t bytes);
  void (*unpack)(const LocalReceive& receive, std::size_t offset, const void* from,
                 std::size_t bytes);
};

/// For others to see.
inline Receive& fill_entry(LocalReceive& receive, int owner) {
  Receive& entry = *receive.entry;
  receive.is_private = false;
  entry.envelope() = receive;
  entry.kind = ItemKind::posted;
  entry.flags = receive.blocking ? blocking : 0;
  entry.owner = static_cast<std::uint32_t>(owner);
  entry.word.store(posted, std::memory_order_relaxed);
  entry.request = reinterpret_cast<std::uint64_t>(&receive);
  entry.address = receive.address;
  entry.capacity = receive.capacity;
  entry.message = 0;
  entry.received.error = MPI_SUCCESS;
  entry.directly.store(0, std::memory_order_relaxed);
  return entry;
}

inline LocalReceive& local(const Receive& receive) {
  return *reinterpret_cast<LocalReceive*>(receive.request);
}
inline LocalSend& local(const Transfer& transfer) {
  return *reinterpret_cast<LocalSend*>(transfer.sender);
}

}  // namespace meantime::match
