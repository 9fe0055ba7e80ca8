// Messages beside a meeting, for what is too large for deposits.
#pragma once

#include <mpi.h>

#include <vector>

#include "coll/blocks.h"
#include "core/comm/communicator.h"
#include "core/request/point_to_point.h"
#include "core/request/request.h"

namespace meantime::coll {

class Messages {
 public:
  Messages(Communicator& comm, int tag) : comm_(comm), tag_(tag) {}
  ~Messages() { finish(); }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void send(const Piece& piece, int to) {
    Request* request = nullptr;
    note(core::start_send(core::send_of(piece.buffer, piece.count, *piece.type, to, tag_,
                                        core::ContextOffset::collective),
                          comm_, &request));
    add(request);
  }
  void receive(const Piece& piece, int from) {
    Request* request = nullptr;
    note(core::start_receive(core::receive_of(piece.buffer, piece.count, *piece.type, from, tag_,
                                              core::ContextOffset::collective),
                             comm_, &request));
    add(request);
  }
  int finish() {
    if (!requests_.empty()) {
      wait_all(requests_.data(), static_cast<int>(requests_.size()));
      for (Request* request : requests_) {
        note(core::finish(request, MPI_STATUS_IGNORE));
      }
      requests_.clear();
    }
    return error_;
  }

 private:
  void add(Request* request) {
    if (request != nullptr) {
      requests_.push_back(request);
    }
  }
  void note(int error) { error_ = error_ == MPI_SUCCESS ? error : error_; }

  Communicator& comm_;
  int tag_;
  int error_ = MPI_SUCCESS;
  std::vector<Request*> requests_;
};

}  // namespace meantime::coll
