#include "coll/lent.h"

#include <algorithm>
#include <memory>
#include <new>

#include "coll/meeting.h"
#include "coll/thresholds.h"
#include "node/cross_memory.h"

namespace meantime::coll {
namespace {

struct Loan {
  std::uint64_t address;  ///< of the first member's block, the others follow; 0: refused
};

/// Where a member's blocks for all lie one after the other: in the user's buffer if they do, else
/// in a copy.
class Lent {
 public:
  Lent(const Blocks& blocks, int members, int own, std::size_t block, bool overwritten) {
    const Piece first = blocks[0];
    if (first.type->contiguous && !overwritten) {
      begin_ = static_cast<const char*>(first.buffer) + first.type->true_lb;
      return;
    }
    copy_.reset(new (std::nothrow) char[static_cast<std::size_t>(members) * block]);
    begin_ = copy_.get();
    for (int member = 0; member < members && begin_ != nullptr; ++member) {
      if (member != own) {
        blocks[member].pack_to(copy_.get() + static_cast<std::size_t>(member) * block, 0, block);
      }
    }
  }
  /// What was in the blocks that have been read over.
  void restore(const Blocks& blocks, int members, int own, std::size_t block) const {
    for (int member = 0; member < members; ++member) {
      if (member != own) {
        blocks[member].unpack_from(copy_.get() + static_cast<std::size_t>(member) * block, 0,
                                   block);
      }
    }
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(begin_); }

 private:
  const char* begin_;
  std::unique_ptr<char[]> copy_;
};

/// `bytes` of another rank's memory. False if that is not allowed.
bool read(int world_rank, std::uint64_t from, const Piece& to, std::size_t bytes) {
  if (to.type->contiguous) {
    return node::read_from(world_rank, static_cast<char*>(to.buffer) + to.type->true_lb, from,
                           bytes) == 0;
  }
  constexpr std::size_t step = 64 * 1024;  // stays in the core's own cache until it is unpacked
  const std::unique_ptr<char[]> bounce(new char[std::min(step, bytes)]);
  for (std::size_t offset = 0; offset < bytes; offset += step) {
    const std::size_t now = std::min(step, bytes - offset);
    if (node::read_from(world_rank, bounce.get(), from + offset, now) != 0) {
      return false;
    }
    to.unpack_from(bounce.get(), offset, now);
  }
  return true;
}

Loan& loan_of(Meeting& meeting, int rank) {
  return *reinterpret_cast<Loan*>(meeting.slot(rank).data);
}

bool& has_read(Meeting& meeting, int rank) {
  return *reinterpret_cast<bool*>(meeting.slot(rank).data);
}

/// The second meeting, after this member has read what it wanted: or could not.
int give_back(Communicator& comm, State& state, bool all_read) {
  Meeting meeting(comm, state, what(Code::second_half));
  meeting.deposit(sizeof(bool));
  has_read(meeting, comm.rank) = all_read;
  if (meeting.arrive()) {
    bool everywhere = true;
    for (int member = 0; member < comm.size; ++member) {
      everywhere = everywhere && has_read(meeting, member);
    }
    meeting.open_all(everywhere ? MPI_SUCCESS : refused);
  }
  return meeting.pass_all();
}

}  // namespace

bool worth_lending(Communicator& comm, std::size_t block) {
  const State& state = state_of(comm);
  return state.lends && block >= (state.in_host ? thresholds::lent_in_host : thresholds::lent);
}

int lent_alltoall(const Blocks& send, const Blocks& receive, bool in_place, Communicator& comm) {
  State& state = state_of(comm);
  const int members = comm.size;
  const std::size_t block = receive.bytes(0);
  bool all_lent = true;
  bool all_read = true;
  // What others read must outlive the second meeting.
  const Lent lent(send, members, comm.rank, block, in_place);
  {
    Meeting meeting(comm, state, what(Code::alltoall, 0, block));
    meeting.deposit(sizeof(Loan));
    loan_of(meeting, comm.rank).address = lent.address();
    if (const int error = meet(meeting); error != MPI_SUCCESS) {
      return error;
    }
    for (int member = 0; member < members; ++member) {
      all_lent = all_lent && loan_of(meeting, member).address != 0;
    }
    for (int distance = 1; distance < members && all_lent && all_read; ++distance) {
      const int from = (comm.rank + distance) % members;
      const int world_rank = comm.group->world_rank(from);
      const std::uint64_t address =
          loan_of(meeting, from).address + static_cast<std::uint64_t>(comm.rank) * block;
      all_read = node::can_attach(world_rank) && read(world_rank, address, receive[from], block);
    }
  }
  const int error = all_lent ? give_back(comm, state, all_read) : refused;
  if (error == refused) {
    state.lends = false;
    if (in_place && all_lent) {
      lent.restore(send, members, comm.rank, block);
    }
  }
  return error;
}

}  // namespace meantime::coll
