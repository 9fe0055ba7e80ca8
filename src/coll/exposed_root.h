// A root that exposes its buffer: thread ranks of one host read a long broadcast, or their blocks
// of a scatter, where they lie in the root's own memory. It spares the copy into a deposit, and the
// root's share of the work. The price is that the root waits until all have read: behind a second
// meeting, at which the others only arrive.
//   piece   a place and how many bytes
//   table   the pieces of a scatter, by member. The root's slot says where it is; of a broadcast,
//           which has a single one, the slot has that
// The root alone decides. (In a program whose ranks call different collectives a piece may still
// be read when the root has got its error.) What is not contiguous goes by deposits.
#pragma once

#include <memory>

#include "coll/blocks.h"
#include "coll/meeting.h"
#include "core/comm/communicator.h"

namespace meantime::coll {

struct ExposedPiece {
  const void* begin;
  std::uint64_t bytes;
};
using ExposedPieces = std::unique_ptr<ExposedPiece[]>;

bool root_exposes(const Piece& piece, Communicator& comm);
/// nullptr: the root does not expose them, or there is no memory for the table.
ExposedPieces pieces_to_expose(const Blocks& blocks, int root, Communicator& comm);

/// By the root, which has given nothing in this meeting yet: opens its gate.
void expose(Meeting& meeting, const Piece& piece);
void expose(Meeting& meeting, const ExposedPieces& pieces);
/// Then: returns when all have read, or an MPI error class; in that case some may read yet, so the
/// table is left to them.
int wait_for_readers(Meeting& meeting, Communicator& comm, ExposedPieces pieces = nullptr);

/// By the others, behind the root's gate.
bool has_exposed(Meeting& meeting, int root);
/// Reads into `piece` what fits of a broadcast's piece, or of this member's of a scatter, and
/// arrives at the second meeting. How many bytes were exposed.
std::size_t take(Meeting& meeting, int root, const Piece& piece, Communicator& comm);
std::size_t take_mine(Meeting& meeting, int root, const Piece& piece, Communicator& comm);

}  // namespace meantime::coll
