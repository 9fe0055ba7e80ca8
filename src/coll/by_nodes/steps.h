// What collectives in two steps (by_nodes.h) are made of: steps among the ranks of this node, and
// messages between nodes. Each is done whatever became of those before, for others wait for it; but
// after an error they get nothing, which is another size than they expect, and nothing is copied or
// called.
//   aside       messages for which only the end waits
//   at once     a blocking collective: ranks of a node meet in shared memory
//   scheduled   one that is not: all goes by messages
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "coll/blocks.h"
#include "coll/schedule/schedule.h"
#include "coll/state.h"
#include "core/comm/nodes.h"
#include "core/object/handles.h"
#include "core/request/point_to_point.h"

namespace meantime::coll::by_nodes {

inline Piece bytes_at(void* place, std::size_t bytes) {
  return {place, static_cast<MPI_Count>(bytes), *resolve(MPI_BYTE)};
}
inline Blocks blocks_at(char* place, std::size_t bytes_of_each) {
  return {place, static_cast<MPI_Count>(bytes_of_each), *resolve(MPI_BYTE)};
}
/// In a barrier, and in place of what an error has kept from being there.
inline Piece nothing() {
  return bytes_at(nullptr, 0);
}

enum class How { at_once, scheduled };

class Steps {
 public:
  explicit Steps(Communicator& comm) : comm(comm), nodes(*comm.nodes), here(*comm.nodes->here) {}
  virtual ~Steps() = default;
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // Among the ranks of this node, of which `root` is one. At the root `send`, and of a scatter
  // `receive`, may be in place.
  virtual void bcast_here(const Piece& piece, int root) = 0;
  virtual void gather_here(const Piece& send, const Blocks& receive, int root) = 0;
  virtual void scatter_here(const Blocks& send, const Piece& receive, int root) = 0;
  // To the first of them, from each `least` bytes up to a block; and from it, which gives nobody
  // more than `most`. It has its own in place, or where it is.
  virtual void gather_up_to_here(const Piece& send, const Blocks& receive, std::size_t least) = 0;
  virtual void hand_out_here(const Late* blocks, std::size_t most) = 0;
  virtual void take_here(const Piece& piece, std::size_t least) = 0;
  // To and from a rank of the communicator. Buffers are in use until `wait`.
  virtual void send(const Piece& piece, int to) = 0;
  virtual void send(const Late& bytes, int to) = 0;
  virtual void receive(const Piece& piece, int from) = 0;
  virtual void receive_up_to(const Piece& piece, std::size_t least, int from) = 0;
  // For these `wait` does not wait.
  virtual void send_aside(const Piece& piece, int to) = 0;
  virtual void receive_aside(const Piece& piece, int from) = 0;
  /// What comes next needs what was before.
  virtual void wait() = 0;
  virtual void copy(const Piece& from, const Piece& to) = 0;
  /// As Schedule's.
  virtual void call(const Schedule::Call& what) = 0;
  /// As long as the steps need it; aligned for every datatype.
  virtual char* memory(std::size_t bytes) = 0;

  Communicator& comm;
  const Nodes& nodes;
  Communicator& here;
};

class AtOnce final : public Steps {
 public:
  explicit AtOnce(Communicator& comm) : AtOnce(comm, state_of(comm).next_tag()) {}
  ~AtOnce() override { finish(); }

  void bcast_here(const Piece& piece, int root) override;
  void gather_here(const Piece& send, const Blocks& receive, int root) override;
  void scatter_here(const Blocks& send, const Piece& receive, int root) override;
  void gather_up_to_here(const Piece& send, const Blocks& receive, std::size_t least) override;
  void hand_out_here(const Late* blocks, std::size_t most) override;
  void take_here(const Piece& piece, std::size_t least) override;
  void send(const Piece& piece, int to) override { start_send(piece, to, under_way_); }
  void send(const Late& bytes, int to) override;
  void receive(const Piece& piece, int from) override;
  void receive_up_to(const Piece& piece, std::size_t least, int from) override;
  void send_aside(const Piece& piece, int to) override { start_send(piece, to, aside_); }
  void receive_aside(const Piece& piece, int from) override;
  void wait() override { wait(under_way_); }
  void copy(const Piece& from, const Piece& to) override;
  void call(const Schedule::Call& what) override;
  char* memory(std::size_t bytes) override;

  /// The first error.
  int finish() {
    wait(under_way_);
    wait(aside_);
    return error_;
  }

 private:
  struct Messages {
    const int tag;  ///< its own: after an error something may not be received
    struct Expected {
      int from;
      std::size_t least;
    };
    std::vector<Request*> requests = {};
    std::vector<Expected> expected = {};  ///< of sends nothing, from nobody
  };

  AtOnce(Communicator& comm, int tag)
      : Steps(comm), under_way_{tag}, aside_{tag + State::for_asides} {}
  void note(int error) { error_ = error_ != MPI_SUCCESS ? error_ : error; }
  void start_send(const Piece& piece, int to, Messages& among);
  void start_receive(const Piece& piece, std::size_t least, int from, Messages& among);
  void keep(int error, Request* request, Messages::Expected expected, Messages& among);
  void wait(Messages& messages);

  int error_ = MPI_SUCCESS;
  Messages under_way_;
  Messages aside_;
  std::vector<std::unique_ptr<char[]>> memory_;
};

class Scheduled final : public Steps {
 public:
  Scheduled(Schedule& schedule, Communicator& comm) : Steps(comm), schedule_(schedule) {
    schedule.pass_errors_on();
  }

  void bcast_here(const Piece& piece, int root) override;
  void gather_here(const Piece& send, const Blocks& receive, int root) override;
  void scatter_here(const Blocks& send, const Piece& receive, int root) override;
  void gather_up_to_here(const Piece& send, const Blocks& receive, std::size_t least) override;
  void hand_out_here(const Late* blocks, std::size_t most) override;
  void take_here(const Piece& piece, std::size_t least) override {
    schedule_.receive_up_to(piece, least, ranks_here().front());
  }
  void send(const Piece& piece, int to) override { schedule_.send(piece, to); }
  void send(const Late& bytes, int to) override { schedule_.send(bytes, to); }
  void receive(const Piece& piece, int from) override { schedule_.receive(piece, from); }
  void receive_up_to(const Piece& piece, std::size_t least, int from) override {
    schedule_.receive_up_to(piece, least, from);
  }
  void send_aside(const Piece& piece, int to) override { schedule_.send_aside(piece, to); }
  void receive_aside(const Piece& piece, int from) override {
    schedule_.receive_aside(piece, from);
  }
  void wait() override { schedule_.fence(); }
  void copy(const Piece& from, const Piece& to) override { schedule_.copy(from, to); }
  void call(const Schedule::Call& what) override { schedule_.call(what); }
  char* memory(std::size_t bytes) override { return schedule_.memory(bytes); }

 private:
  const std::vector<int>& ranks_here() const {
    return nodes.members[static_cast<std::size_t>(nodes.own)];
  }

  Schedule& schedule_;
};

/// Who speaks for this node if `root` does for its own, as a rank of this node's.
int speaker_here(const Communicator& comm, int root);

}  // namespace meantime::coll::by_nodes
