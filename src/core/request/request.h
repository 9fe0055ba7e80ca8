// A request: an operation that the user may wait for.
//   active     started and not yet completed by Wait/Test
//   complete   nothing is left to do but to hand the status over
//   leaf       a point-to-point entry in the segment that some remote side completes; a collective
//              request waits for one leaf after the other
// Requests are private to the rank; what remote ranks touch is the entry in the segment.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "core/object/object.h"

namespace meantime {

struct Communicator;
struct Datatype;

namespace wait {
struct Situation;
enum class Channel : std::uint8_t;
}  // namespace wait
namespace node {
struct Waiter;
}
namespace core {
class WatchSet;
}

struct Request : Object {
  static constexpr Kind object_kind = Kind::request;
  enum class Type : std::uint8_t {
    send,
    receive,
    collective,
    generalized,
    partitioned_send,
    partitioned_receive
  };

  explicit Request(Type type)
      : Object(Kind::request),
        type(type),
        composed(type == Type::collective || type == Type::generalized) {}
  virtual ~Request();

  /// From the rank's spare memory. Rank's lock held.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* request, std::size_t bytes);

  /// Tries to get on with it; true once complete. Called with the rank's lock held.
  virtual bool advance() = 0;
  /// See wait::Awaited::arm/disarm. Returns how many completions will count the waiter down: the
  /// caller tells the waiter the sum (wait::expect_more). An already completed one returns 0.
  virtual int arm(node::Waiter& waiter) = 0;
  virtual void disarm(node::Waiter& waiter) = 0;
  /// Fills in peer, tag … for policies and the hang report.
  virtual void describe(wait::Situation& situation) const = 0;
  /// Which way its message goes, or went; before the match, as far as that can be said.
  virtual wait::Channel channel() const;
  /// MPI_Start of a persistent request; MPI_ERR_REQUEST for others.
  virtual int start() { return MPI_ERR_REQUEST; }
  virtual int cancel() { return MPI_ERR_REQUEST; }

  const Type type;
  bool composed;  ///< its rank, or the user, has to do something in between: any completion wakes
  bool complete = false;
  bool persistent = false;
  bool active = true;
  bool in_background = false;  ///< moved on whenever its rank is in MPI: progress.h
  bool abandoned = false;      ///< the user freed it: it goes when complete
  bool cancelled = false;
  int error = MPI_SUCCESS;
  int source = MPI_ANY_SOURCE;  ///< of the status
  int tag = MPI_ANY_TAG;
  MPI_Count bytes = 0;
  node::Waiter* slept_for = nullptr;     ///< a thread waits for it, and sleeps
  core::WatchSet* watched_by = nullptr;  ///< what a thread tests for, this among it (watch_set.h) …
  std::uint32_t watch_place = 0;         ///< … at this place
  Communicator* comm = nullptr;          ///< for the error handler; a reference is held if not null

  MPI_Request handle() { return reinterpret_cast<MPI_Request>(this); }
};

/// Waits for all / for any of `count` requests (nullptr entries are skipped). `wait_any` returns
/// the index of a complete one. Statuses and freeing are the caller's.
void wait_all(Request* const* requests, int count);
int wait_any(Request* const* requests, int count);
/// None of them, or not all of them, was found complete by a call that does not wait.
void looked_in_vain(Request* const* requests, int count, bool all);

}  // namespace meantime
