// Through a pipe: a ring of chunks in the segment that the sender fills and the receiver empties,
// when they are in MPI. For non-contiguous senders, without cross-memory attach, and where two
// copies are quicker than one.
#pragma once

#include <vector>

#include "match/memory.h"
#include "match/transitions.h"
#include "match/ways/way.h"

namespace meantime::match {

class Pipes final : public Way {
 public:
  Pipes(Ground& ground, Transitions& transitions, Memory& memory)
      : ground_(ground), transitions_(transitions), memory_(memory) {}
  void prepare();

  First begin(Message& message, Receive& receive) override;
  void receive(Message& message, Receive& receive) override;
  void send(Message& message) override;
  bool progress() override;

  /// A direct copy did not work to the end: the rest of it.
  void take_over(Message& message, Receive& receive);
  /// Of this rank, if that has happened to it and it does not move yet.
  void go_on(const LocalSend& send);
  /// The send is over, but perhaps its pipe is still here.
  void forget(Message& message);

  /// This receive is one of a message that could be copied as well. One at a time, so that its pipe
  /// stays in the caches.
  void time(const Receive& receive);
  bool is_timing() const { return timed_ != nullptr; }
  bool idle() const { return out_.empty() && in_.empty(); }
  bool lacks_memory() const { return no_memory_; }
  bool is_moving() const { return moving_; }

 private:
  bool make(Transfer& transfer);
  void release(Transfer& transfer);
  bool fill(Message& message);
  bool empty(Receive& receive);

  Ground& ground_;
  Transitions& transitions_;
  Memory& memory_;

  static constexpr std::uint32_t spare_bytes = 512;
  static constexpr std::uint32_t least_bytes = 4096;  ///< of others
  Link spare_ = 0;                                    ///< 0: in use

  std::vector<Message*> out_;
  std::vector<Receive*> in_;
  bool moving_ = false;     ///< just now
  bool no_memory_ = false;  ///< for a pipe, at the last try
  const Receive* timed_ = nullptr;
  std::uint64_t timed_began_ = 0;
};

}  // namespace meantime::match
