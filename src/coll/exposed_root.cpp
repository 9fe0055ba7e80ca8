#include "coll/exposed_root.h"

#include <mpi.h>

#include <algorithm>
#include <new>

#include "base/heuristics.h"
#include "coll/thresholds.h"

namespace meantime::coll {
namespace {

/// In the root's slot.
struct Given {
  ExposedPiece single;        ///< of a broadcast
  const ExposedPiece* table;  ///< of a scatter
};
static_assert(sizeof(Given) <= inline_bytes);

Given& given_in(Slot& slot) {
  return *reinterpret_cast<Given*>(slot.data);
}

ExposedPiece exposed_piece(const Piece& piece) {
  if (piece.bytes() == 0) {
    return {nullptr, 0};
  }
  return {static_cast<const char*>(piece.buffer) + piece.type->true_lb, piece.bytes()};
}

void give(Meeting& meeting, const Given& given) {
  meeting.deposit(sizeof given);
  given_in(meeting.mine()) = given;
  meeting.mine().bulk = exposed_deposit;
  meeting.open_root();
}

std::size_t read(const ExposedPiece& exposed, const Piece& piece, Communicator& comm) {
  const auto bytes = static_cast<std::size_t>(exposed.bytes);
  piece.unpack_from(exposed.begin, 0, std::min(bytes, piece.bytes()));
  Meeting second(comm, state_of(comm), what(Code::second_half), false);
  go_on(second);
  return bytes;
}

}  // namespace

bool root_exposes(const Piece& piece, Communicator& comm) {
  return state_of(comm).in_host && piece.bytes() >= thresholds::exposed_bcast &&
         piece.type->contiguous;
}

ExposedPieces pieces_to_expose(const Blocks& blocks, int root, Communicator& comm) {
  if (!state_of(comm).in_host) {
    return nullptr;
  }
  std::size_t sum = 0;
  for (int member = 0; member < comm.size; ++member) {
    if (member != root) {
      const Piece block = blocks[member];
      if (block.bytes() > 0 && !block.type->contiguous) {
        return nullptr;
      }
      sum += block.bytes();
    }
  }
  if (!uses(Heuristic::exposed_scatter) ||
      sum < thresholds::exposed_scatter * static_cast<std::size_t>(comm.size - 1) || sum == 0) {
    return nullptr;
  }
  ExposedPieces pieces(new (std::nothrow) ExposedPiece[static_cast<std::size_t>(comm.size)]);
  for (int member = 0; member < comm.size && pieces != nullptr; ++member) {
    pieces[static_cast<std::size_t>(member)] =
        member != root ? exposed_piece(blocks[member]) : ExposedPiece{nullptr, 0};
  }
  return pieces;
}

void expose(Meeting& meeting, const Piece& piece) {
  give(meeting, {exposed_piece(piece), nullptr});
}

void expose(Meeting& meeting, const ExposedPieces& pieces) {
  give(meeting, {{nullptr, 0}, pieces.get()});
}

/// All arrive at the first meeting before they read, so a root that waits there learns whether all
/// came for the same: only then is anybody sure to come to the second one.
int wait_for_readers(Meeting& meeting, Communicator& comm, ExposedPieces pieces) {
  if (const int error = meet(meeting); error != MPI_SUCCESS) {
    static_cast<void>(pieces.release());
    return error;
  }
  Meeting second(comm, state_of(comm), what(Code::second_half), false);
  return meet(second);
}

bool has_exposed(Meeting& meeting, int root) {
  return meeting.slot(root).bulk == exposed_deposit;
}

std::size_t take(Meeting& meeting, int root, const Piece& piece, Communicator& comm) {
  return read(given_in(meeting.slot(root)).single, piece, comm);
}

std::size_t take_mine(Meeting& meeting, int root, const Piece& piece, Communicator& comm) {
  return read(given_in(meeting.slot(root)).table[comm.rank], piece, comm);
}

}  // namespace meantime::coll
