// What becomes of a match: the payload out of its cell, or on one of the ways for larger ones, and
// the attention list by which a rank is asked to take part.
#pragma once

#include <memory>
#include <vector>

#include "match/memory.h"
#include "match/transitions.h"
#include "match/ways/copies.h"
#include "match/ways/pipes.h"
#include "match/ways/test_wire.h"

namespace meantime::match {

class Transfers {
 public:
  Transfers(Ground& ground, Cells& cells, Transitions& transitions, Memory& memory)
      : pipes(ground, transitions, memory),
        copies(ground, transitions, pipes),
        ground_(ground),
        cells_(cells),
        transitions_(transitions) {}

  /// A message and a receive belong together. Held or not, whoever calls has both for himself.
  void join(Message& message, Receive& receive);
  /// Once no match lock is held: what matches have left to do. Nobody copies large payloads or
  /// makes system calls with a match lock held.
  void after_match() {
    if (ground_.bells.noted() || !to_receive_.empty() || !to_send_.empty()) {
      work_off();
    }
  }
  /// By the owner: the payload of an eager or synchronous message to where the user wants it.
  void deliver_from_cell(Message& message, Receive& receive);

  bool attention_waits() const { return !ground_.box.attention.empty(); }
  bool attend();
  bool progress() {
    return (attention_waits() || ground_.box.rescan.load(std::memory_order_relaxed) != 0 ||
            !pipes.idle() || test_wire != nullptr) &&
           go_on();
  }

  Pipes pipes;
  Copies copies;
  std::unique_ptr<TestWire> test_wire;  ///< rarely

 private:
  Piped choose(const Message& message, const Transfer& transfer, const Receive& receive);
  bool pipe_is_quicker(const Message& message, const Transfer& transfer, const Receive& receive);
  void begin(Message& message, Receive& receive);
  Way& way_of(std::uint32_t piped);
  void work_off();
  bool go_on();
  void take_part(Receive& receive);

  Ground& ground_;
  Cells& cells_;
  Transitions& transitions_;
  std::vector<Receive*> to_receive_;
  std::vector<Message*> to_send_;
};

}  // namespace meantime::match
