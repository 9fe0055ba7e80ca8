#include "coll/roots_loan.h"

#include <mpi.h>

#include <algorithm>
#include <new>

#include "base/heuristics.h"
#include "coll/thresholds.h"

namespace meantime::coll {
namespace {

/// In the root's slot.
struct Given {
  RootsLoan single;        ///< of a broadcast
  const RootsLoan* table;  ///< of a scatter
};
static_assert(sizeof(Given) <= inline_bytes);

Given& given_in(Slot& slot) {
  return *reinterpret_cast<Given*>(slot.data);
}

RootsLoan loan_of(const Piece& piece) {
  if (piece.bytes() == 0) {
    return {nullptr, 0};
  }
  return {static_cast<const char*>(piece.buffer) + piece.type->true_lb, piece.bytes()};
}

void give(Meeting& meeting, const Given& given) {
  meeting.deposit(sizeof given);
  given_in(meeting.mine()) = given;
  meeting.mine().bulk = lent_deposit;
  meeting.open_root();
}

std::size_t read(const RootsLoan& loan, const Piece& piece, Communicator& comm) {
  const auto bytes = static_cast<std::size_t>(loan.bytes);
  piece.unpack_from(loan.begin, 0, std::min(bytes, piece.bytes()));
  Meeting second(comm, state_of(comm), what(Code::second_half), false);
  go_on(second);
  return bytes;
}

}  // namespace

bool root_lends(const Piece& piece, Communicator& comm) {
  return state_of(comm).in_host && piece.bytes() >= thresholds::lent_bcast &&
         piece.type->contiguous;
}

RootsLoans loans_to_give(const Blocks& blocks, int root, Communicator& comm) {
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
  if (!uses(Heuristic::lent_scatter) ||
      sum < thresholds::lent_scatter * static_cast<std::size_t>(comm.size - 1) || sum == 0) {
    return nullptr;
  }
  RootsLoans loans(new (std::nothrow) RootsLoan[static_cast<std::size_t>(comm.size)]);
  for (int member = 0; member < comm.size && loans != nullptr; ++member) {
    loans[static_cast<std::size_t>(member)] =
        member != root ? loan_of(blocks[member]) : RootsLoan{nullptr, 0};
  }
  return loans;
}

void lend(Meeting& meeting, const Piece& piece) {
  give(meeting, {loan_of(piece), nullptr});
}

void lend(Meeting& meeting, const RootsLoans& loans) {
  give(meeting, {{nullptr, 0}, loans.get()});
}

/// All arrive at the first meeting before they read, so a root that waits there learns whether all
/// came for the same: only then is anybody sure to come to the second one.
int wait_for_readers(Meeting& meeting, Communicator& comm, RootsLoans loans) {
  if (const int error = meet(meeting); error != MPI_SUCCESS) {
    static_cast<void>(loans.release());
    return error;
  }
  Meeting second(comm, state_of(comm), what(Code::second_half), false);
  return meet(second);
}

bool has_lent(Meeting& meeting, int root) {
  return meeting.slot(root).bulk == lent_deposit;
}

std::size_t take(Meeting& meeting, int root, const Piece& piece, Communicator& comm) {
  return read(given_in(meeting.slot(root)).single, piece, comm);
}

std::size_t take_mine(Meeting& meeting, int root, const Piece& piece, Communicator& comm) {
  return read(given_in(meeting.slot(root)).table[comm.rank], piece, comm);
}

}  // namespace meantime::coll
