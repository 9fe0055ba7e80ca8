// Waiting: from the moment a rank cannot go on until it can. This part knows no MPI objects; it
// sees a plain struct and something that can be awaited.
//   Awaited   what is waited for, as five questions
// How it waits: ladder.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "node/layout.h"

namespace meantime::wait {

struct Policy;
class TestLoop;

/// What a wait looks like from outside: policies and reports see this and nothing else.
struct Situation {
  std::uint32_t call = 0;             ///< index of the generated call table
  const void* call_site = nullptr;    ///< return address in the user's program
  std::uint32_t context = 0;          ///< of the communicator, 0 = several or none
  const std::string* name = nullptr;  ///< the communicator's, which may change meanwhile
  std::int32_t peer = node::no_peer;
  std::int32_t world_peer = node::no_peer;  ///< the same rank in the world, if it is one
  std::int32_t tag = 0;
  std::uint32_t requests = 1;  ///< how many it waits for; the rest is about the first of them
  std::uint64_t bytes = 0;
  const Policy* policy = nullptr;  ///< the communicator's own, if it has one
};

/// What tends to end a wait of this kind, for whoever learns from earlier ones.
enum class Kind : std::uint8_t {
  messages,
  gate,  ///< of a collective: all ranks come
};
inline constexpr int kinds = 2;

/// How a payload gets from one rank's memory to another's.
enum class Channel : std::uint8_t {
  shared_memory,  ///< into memory of the node and out of it
  direct_copy,    ///< from buffer to buffer
};

class Awaited {
 public:
  virtual Kind kind() const { return Kind::messages; }
  /// Of the first of what is not complete yet; once all is, of what was the last.
  virtual Channel channel() const { return Channel::shared_memory; }
  /// True once the wait is over. Cheap; called at every turn.
  virtual bool ready() = 0;
  /// Moves what this rank can move (its inbox, its transfers). True if anything did move.
  virtual bool progress() = 0;
  /// As so many looks at memory a look at it costs.
  virtual int cost_of_look() const { return 1; }
  /// Makes sure that whoever makes this ready from now on rings `waiter` (by wait::ring, or by
  /// wait::count_down). Afterwards `progress` and `ready` are asked once more
  /// before the sleep: arm, look again, then sleep.
  virtual void arm(node::Waiter& waiter) = 0;
  /// Takes back what `arm` did. A ring that is still on its way does no harm.
  virtual void disarm(node::Waiter& waiter) = 0;
  virtual void describe(Situation& situation) const = 0;  ///< of what is not complete yet
  /// After those last looks: what they have started is armed now, too. And before a thread that was
  /// awake leaves others of its rank asleep.
  virtual void about_to_sleep() {}
  /// Memory is full, and nobody will ever give any back. True if the wait is over by that.
  virtual bool goes_without() { return false; }

 protected:
  ~Awaited() = default;
};

/// Waits until `what.ready()`. Lets go of the rank's lock while it sleeps or yields.
void until(Awaited& what);
/// The quick looks of a thread rank alone: true if it is ready then. For who needs an entry in a
/// queue, and more, if it is not; `what` is not armed.
bool is_over_soon(Awaited& what);

/// For how many turns of polling a wait is not worth a clock, a report or an entry in a queue:
/// most that are not over yet are so within half a microsecond, if the other has a core.
int quick_turns();

}  // namespace meantime::wait
