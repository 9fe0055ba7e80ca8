// What collectives in two steps (by_nodes.h) are made of: steps among the ranks of this node, and
// messages between nodes. Each is done whatever became of those before, for others wait for it.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/blocks.h"
#include "core/comm/nodes.h"
#include "core/request/point_to_point.h"

namespace meantime::coll::by_nodes {

/// Of several steps: a rank that has given another count than the others gets an error, and they go
/// on.
class FirstError {
 public:
  void operator+=(int error) { error_ = error_ != MPI_SUCCESS ? error_ : error; }
  operator int() const { return error_; }

 private:
  int error_ = MPI_SUCCESS;
};

/// In place of what an error has kept from being there: of another size than others expect.
inline Piece nothing() {
  return {nullptr, 0, *resolve(MPI_BYTE)};
}

// --- On this node: in shared memory, or by messages where there was no memory for that

int barrier_here(Communicator& here);
int bcast_here(const Piece& piece, int root, Communicator& here);
/// `send` may be in place at the root.
int gather_here(const Piece& send, const Blocks& receive, int root, Communicator& here);
/// `receive` may be in place at the root.
int scatter_here(const Blocks& send, const Piece& receive, int root, Communicator& here);

/// Who speaks for this node if `root` does for its own, as a rank of this node's.
int speaker_here(const Communicator& comm, int root);

// --- Between nodes

/// Messages under way; they have buffers until `wait`.
class Exchange {
 public:
  explicit Exchange(Communicator& comm) : comm_(comm) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { wait(); }

  void send(const Piece& piece, int to);
  void receive(const Piece& piece, int from);
  /// The first error.
  int wait();

 private:
  static constexpr std::size_t no_bytes = ~std::size_t{0};  ///< to receive

  void keep(int error, Request* request, std::size_t expected);

  Communicator& comm_;
  std::vector<Request*> requests_;
  std::vector<std::size_t> expected_;
  FirstError error_;
};

}  // namespace meantime::coll::by_nodes
