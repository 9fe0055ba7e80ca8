// A root that lends: thread ranks of one host read a long broadcast, or their blocks of a scatter,
// where they lie in the root's own memory. It spares the copy into a deposit, and the root's share
// of the work. The price is that the root waits until all have read: behind a second meeting, at
// which the others only arrive.
//   loan   a place and how many bytes; the root's slot says where its loans are
// The root alone decides. (In a program whose ranks call different collectives the loan may still
// be read when the root has got its error.) What lies in pieces goes by deposits.
#pragma once

#include "coll/blocks.h"
#include "coll/meeting.h"
#include "core/communicator.h"

namespace meantime::coll {

struct RootsLoan {
  const void* begin;
  std::uint64_t bytes;
};

bool root_lends(const Piece& piece, Communicator& comm);
bool root_lends(const Blocks& blocks, int root, Communicator& comm);

/// By the root, which has given nothing in this meeting yet: opens its gate, and returns when all
/// have read, or an MPI error class.
int lend(Meeting& meeting, const Piece& piece, Communicator& comm);
int lend(Meeting& meeting, const Blocks& blocks, Communicator& comm);

/// By the others, behind the root's gate.
bool has_lent(Meeting& meeting, int root);
/// Reads into `piece` what fits of the root's loan, of which this is the number (0: the only one),
/// and arrives at the second meeting. How many bytes were lent.
std::size_t take(Meeting& meeting, int root, int number, const Piece& piece, Communicator& comm);

}  // namespace meantime::coll
