#include "coll/roots_loan.h"

#include <algorithm>
#include <vector>

#include "coll/thresholds.h"

namespace meantime::coll {
namespace {

const RootsLoan*& place_of(Slot& slot) {
  return *reinterpret_cast<const RootsLoan**>(slot.data);
}

RootsLoan loan_of(const Piece& piece) {
  if (piece.bytes() == 0) {
    return {nullptr, 0};
  }
  return {static_cast<const char*>(piece.buffer) + piece.type->true_lb, piece.bytes()};
}

/// All arrive at the first meeting before they read, so a root that waits there learns whether all
/// came for the same: only then is anybody sure to come to the second one.
int lend_and_wait(Meeting& meeting, const RootsLoan* loans, Communicator& comm) {
  meeting.deposit(sizeof loans);
  place_of(meeting.mine()) = loans;
  meeting.mine().bulk = lent_deposit;
  meeting.open_root();
  if (const int error = meet(meeting); error != MPI_SUCCESS) {
    return error;
  }
  Meeting second(comm, state_of(comm), what(Code::second_half), false);
  return meet(second);
}

}  // namespace

bool root_lends(const Piece& piece, Communicator& comm) {
  return state_of(comm).in_host && piece.bytes() >= thresholds::lent_bcast &&
         piece.type->contiguous;
}

bool root_lends(const Blocks& blocks, int root, Communicator& comm) {
  if (!state_of(comm).in_host) {
    return false;
  }
  std::size_t sum = 0;
  for (int member = 0; member < comm.size; ++member) {
    if (member != root) {
      const Piece block = blocks[member];
      if (block.bytes() > 0 && !block.type->contiguous) {
        return false;
      }
      sum += block.bytes();
    }
  }
  return sum >= thresholds::lent_scatter * static_cast<std::size_t>(comm.size - 1) && sum > 0;
}

int lend(Meeting& meeting, const Piece& piece, Communicator& comm) {
  const RootsLoan loan = loan_of(piece);
  return lend_and_wait(meeting, &loan, comm);
}

int lend(Meeting& meeting, const Blocks& blocks, Communicator& comm) {
  std::vector<RootsLoan> loans(static_cast<std::size_t>(comm.size));
  for (int member = 0; member < comm.size; ++member) {
    if (member != comm.rank) {
      loans[static_cast<std::size_t>(member)] = loan_of(blocks[member]);
    }
  }
  return lend_and_wait(meeting, loans.data(), comm);
}

bool has_lent(Meeting& meeting, int root) {
  return meeting.slot(root).bulk == lent_deposit;
}

std::size_t take(Meeting& meeting, int root, int number, const Piece& piece, Communicator& comm) {
  const RootsLoan& loan = place_of(meeting.slot(root))[number];
  const auto bytes = static_cast<std::size_t>(loan.bytes);
  piece.unpack_from(loan.begin, 0, std::min(bytes, piece.bytes()));
  Meeting second(comm, state_of(comm), what(Code::second_half), false);
  go_on(second);
  return bytes;
}

}  // namespace meantime::coll
