// A collective as a list of steps, for everything that goes by messages: non-blocking and
// persistent collectives, neighbourhoods, intercommunicators.
//   step      send, receive, copy, reduce, call; or a fence
//   fence     what follows waits for all messages before it
//   schedule  the steps of one rank; made once, run once or (persistent) many times
// Steps between two fences are started together, so a rank sleeps once per fence at most. A step
// that fails is noted and the rest goes on: no other rank waits for ever. (If the schedule
// `passes_errors_on`, what is still to be sent is nothing, and nothing is copied or called.) One
// that lacks memory is tried again until it has some.
//   aside     a message for which only the end of the schedule waits
//   late      bytes of which only steps before say which they are
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "coll/blocks.h"
#include "core/comm/communicator.h"
#include "core/op/op.h"
#include "core/request/request.h"

namespace meantime::coll {

struct Late {
  char* at = nullptr;
  std::size_t bytes = 0;
};

/// Found by a call: where others have made of a message aside something else than this rank.
struct Surprises {
  std::vector<int> absent;      ///< from these one will not come
  std::vector<int> unexpected;  ///< one from these is longer than what is expected
};

class Schedule {
 public:
  Schedule() = default;
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  void send(const Piece& piece, int to);
  void receive(const Piece& piece, int from);
  /// Read when the step's turn comes.
  void send(const Late& bytes, int to);
  /// At least so many bytes.
  void receive_up_to(const Piece& piece, std::size_t least, int from);
  void send_aside(const Piece& piece, int to);
  void receive_aside(const Piece& piece, int from);
  void fence();
  void copy(const Piece& from, const Piece& to);
  /// inout = in op inout
  void reduce(const void* in, void* inout, MPI_Count count, Datatype& type, Op& op);
  /// What it needs lives as long as the schedule. It returns an MPI error class.
  using Call = std::function<int(Surprises&)>;
  void call(Call what);
  /// From now on peers are named by their places among these; nullptr: by their ranks.
  void among(const std::vector<int>* ranks) { among_ = ranks; }
  /// To ranks that are to get what this one has got from others.
  void pass_errors_on() { passes_errors_on_ = true; }
  /// Memory that lives as long as the schedule; aligned for every datatype.
  char* memory(std::size_t bytes);
  /// `count` elements of `type` somewhere to work on.
  Piece elements(MPI_Count count, Datatype& type);

 private:
  friend class ScheduleRequest;
  enum class Kind : std::uint8_t { send, receive, fence, copy, reduce, call };
  struct Step {
    Kind kind;
    int peer = 0;     ///< of a call: its index
    Piece from = {};  ///< of receives: unused
    Piece to = {};    ///< of sends: unused
    Op* op = nullptr;
    std::size_t least = 0;       ///< of receives: bytes
    const Late* late = nullptr;  ///< of sends, in place of `from`
    bool aside = false;
  };
  Piece held(const Piece& piece);
  void add_send(const Piece& piece, int to, bool aside);
  void add_receive(const Piece& piece, std::size_t least, int from, bool aside);
  int rank_of(int peer) const {
    return among_ == nullptr ? peer : (*among_)[static_cast<std::size_t>(peer)];
  }

  std::vector<Step> steps_;
  std::vector<Call> calls_;
  const std::vector<int>* among_ = nullptr;
  bool passes_errors_on_ = false;
  std::vector<std::unique_ptr<char[]>> memory_;
};

/// A schedule under way.
class ScheduleRequest final : public Request {
 public:
  ScheduleRequest(Communicator& comm, int tag, std::unique_ptr<Schedule> schedule, bool persistent);
  ~ScheduleRequest() override;

  bool advance() override;
  int arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void describe(wait::Situation& situation) const override;
  wait::Channel channel() const override;
  int start() override;

  /// One look without a step of others. True if anything moved.
  bool move();

  // For Progress, whose header says who is signalled.
  /// Unless somebody who waits for it sleeps. True if there is a message.
  bool arm_in_background(node::Waiter& heir);
  void disarm_in_background(node::Waiter& heir);
  void hand_over(node::Waiter& heir);

 private:
  /// True at the end.
  bool run_to_next_fence();
  bool run(const Schedule::Step& step);
  int send(const Schedule::Step& step, bool in_vain, Request** request);
  void note(int error);
  int arm_messages(node::Waiter& waiter);
  void disarm_messages(node::Waiter& waiter);
  void leave_unattended();
  struct Message {
    Request* request;
    const Schedule::Step* step;
  };
  static int check_size(const Message& message);
  bool awaits(const Message& message) const;
  int tag_of(const Schedule::Step& step) const;
  int call(const Schedule::Step& step);
  /// Drops what is complete of the messages under way. True if none is left that is awaited.
  bool all_arrived();

  std::unique_ptr<Schedule> schedule_;
  const int tag_;
  std::size_t next_ = 0;
  std::vector<Message> under_way_;
  std::shared_ptr<void> starves_;  ///< match::Memory::Starves, while there is no memory to go on
  wait::Channel went_{};           ///< the last that is not any more
  std::size_t moved_ = 0;          ///< steps started and messages over, ever
  bool unattended_ = false;        ///< messages of it may ring nobody
  std::vector<node::Waiter*> waiters_;  ///< sleep for this one
};

}  // namespace meantime::coll
