// What a rank keeps of its own sends and receives: others know nothing of it. Private to the rank,
// its lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "match/items.h"

namespace meantime::match {

/// A send that is not over at once, at its sender.
struct LocalSend : Envelope {
  int destination = 0;  ///< world rank
  std::uint64_t bytes = 0;
  const char* contiguous = nullptr;  ///< where the data lies in one run, or nullptr
  bool synchronous = false;
  bool blocking = false;  ///< its call returns only when it is done
  /// The payload of a patient one (room.cpp) where there is no shared memory for it.
  std::shared_ptr<char[]> kept;
  Message* message = nullptr;  ///< once pushed
  bool attended = false;       ///< popped from the attention list
  bool left_behind = false;    ///< by who sent it: the engine's, and on its peer's list of these
  std::uint64_t patient_since_ns = 0;  ///< of one beyond its credit (room.cpp), else 0
  bool directly = false;               ///< of one that is done: from buffer to buffer
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

/// A posted receive, at its owner.
struct LocalReceive {
  Receive* entry = nullptr;
  bool to_cancel = false;  ///< as soon as the right can be had
};

/// The core's side: what the engine cannot know, because it knows no datatypes.
struct Typed {
  /// Bytes [offset, offset + bytes) of the send's packed stream.
  void (*pack)(const LocalSend& send, std::size_t offset, void* to, std::size_t bytes);
  void (*unpack)(const LocalReceive& receive, std::size_t offset, const void* from,
                 std::size_t bytes);
};

inline LocalReceive& local(const Receive& receive) {
  return *reinterpret_cast<LocalReceive*>(receive.request);
}
inline LocalSend& local(const Transfer& transfer) {
  return *reinterpret_cast<LocalSend*>(transfer.sender);
}

}  // namespace meantime::match
