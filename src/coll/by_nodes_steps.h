// What collectives in two steps (by_nodes.h) are made of: steps among the ranks of this node, and
// messages between nodes. Each is done whatever became of those before, for others wait for it; but
// after an error they get nothing, which is another size than they expect, and nothing is copied or
// called.
//   at once     a blocking collective: ranks of a node meet in shared memory
//   scheduled   one that is not: all goes by messages
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "coll/blocks.h"
#include "coll/schedule/schedule.h"
#include "core/comm/nodes.h"
#include "core/object/handles.h"
#include "core/request/point_to_point.h"

namespace meantime::coll::by_nodes {

inline Piece bytes_at(void* place, std::size_t bytes) {
  return {place, static_cast<MPI_Count>(bytes), *resolve(MPI_BYTE)};
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
  // To and from a rank of the communicator. Buffers are in use until `wait`.
  virtual void send(const Piece& piece, int to) = 0;
  virtual void receive(const Piece& piece, int from) = 0;
  /// What comes next needs what was before.
  virtual void wait() = 0;
  virtual void copy(const Piece& from, const Piece& to) = 0;
  virtual void call(const std::function<void()>& what) = 0;
  /// As long as the steps need it; aligned for every datatype.
  virtual char* memory(std::size_t bytes) = 0;

  Communicator& comm;
  const Nodes& nodes;
  Communicator& here;
};

class AtOnce final : public Steps {
 public:
  using Steps::Steps;
  ~AtOnce() override { finish(); }

  void bcast_here(const Piece& piece, int root) override;
  void gather_here(const Piece& send, const Blocks& receive, int root) override;
  void scatter_here(const Blocks& send, const Piece& receive, int root) override;
  void send(const Piece& piece, int to) override;
  void receive(const Piece& piece, int from) override;
  void wait() override;
  void copy(const Piece& from, const Piece& to) override;
  void call(const std::function<void()>& what) override;
  char* memory(std::size_t bytes) override;

  /// The first error.
  int finish() {
    wait();
    return error_;
  }

 private:
  static constexpr std::size_t no_bytes = ~std::size_t{0};  ///< to receive

  void note(int error) { error_ = error_ != MPI_SUCCESS ? error_ : error; }
  void keep(int error, Request* request, std::size_t expected);

  int error_ = MPI_SUCCESS;
  std::vector<Request*> requests_;
  std::vector<std::size_t> expected_;
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
  void send(const Piece& piece, int to) override { schedule_.send(piece, to); }
  void receive(const Piece& piece, int from) override { schedule_.receive(piece, from); }
  void wait() override { schedule_.fence(); }
  void copy(const Piece& from, const Piece& to) override { schedule_.copy(from, to); }
  void call(const std::function<void()>& what) override { schedule_.call(what); }
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
