#include "coll/exposed.h"

#include <algorithm>
#include <memory>
#include <new>

#include "coll/meeting.h"
#include "coll/thresholds.h"
#include "node/cross_memory.h"

namespace meantime::coll {
namespace {

struct Exposure {
  std::uint64_t address;  ///< of the first member's block, the others follow; 0: refused
};

/// Where a member's blocks for all lie one after the other: in the user's buffer if they do, else
/// in a copy.
class ExposedBlocks {
 public:
  ExposedBlocks(const Blocks& blocks, int members, int own, std::size_t block, bool overwritten) {
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

/// `bytes` of another rank's memory. False if that is not allowed. `streams`: see stream.h.
bool read(int world_rank, std::uint64_t from, const Piece& to, std::size_t bytes, bool streams) {
  if (node::in_this_host(world_rank)) {
    to.unpack_from(reinterpret_cast<const void*>(from), 0, bytes, streams);
    return true;
  }
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

Exposure& exposure_of(Meeting& meeting, int rank) {
  return *reinterpret_cast<Exposure*>(meeting.slot(rank).data);
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

bool worth_exposing(Communicator& comm, std::size_t block) {
  const State& state = state_of(comm);
  if (!state.exposes) {
    return false;
  }
  if (state.in_host) {
    return block >= thresholds::exposed_alltoall_in_host;
  }
  return block >= (thresholds::streams(comm.size, block) ? thresholds::exposed_alltoall_past_caches
                                                         : thresholds::exposed_alltoall) &&
         node::attaching_is_quicker();
}

int exposed_alltoall(const Blocks& send, const Blocks& receive, bool in_place, Communicator& comm) {
  State& state = state_of(comm);
  const int members = comm.size;
  const std::size_t block = receive.bytes(0);
  const bool streams = thresholds::streams(members, block);
  bool all_exposed = true;
  bool all_read = true;
  // What others read must outlive the second meeting.
  const ExposedBlocks exposed(send, members, comm.rank, block, in_place);
  {
    Meeting meeting(comm, state, what(Code::alltoall, 0, block));
    meeting.deposit(sizeof(Exposure));
    exposure_of(meeting, comm.rank).address = exposed.address();
    if (const int error = meet(meeting); error != MPI_SUCCESS) {
      return error;
    }
    for (int member = 0; member < members; ++member) {
      all_exposed = all_exposed && exposure_of(meeting, member).address != 0;
    }
    for (int distance = 1; distance < members && all_exposed && all_read; ++distance) {
      const int from = (comm.rank + distance) % members;
      const int world_rank = comm.group->world_rank(from);
      const std::uint64_t address =
          exposure_of(meeting, from).address + static_cast<std::uint64_t>(comm.rank) * block;
      all_read =
          node::can_attach(world_rank) && read(world_rank, address, receive[from], block, streams);
    }
  }
  const int error = all_exposed ? give_back(comm, state, all_read) : refused;
  if (error == refused) {
    state.exposes = false;
    if (in_place && all_exposed) {
      exposed.restore(send, members, comm.rank, block);
    }
  }
  return error;
}

int exposed_allgather(const Piece& own, const Blocks& receive, std::size_t sum,
                      Communicator& comm) {
  State& state = state_of(comm);
  const bool streams = thresholds::streams(comm.size, sum / static_cast<std::size_t>(comm.size));
  const std::size_t bytes = std::min(receive.bytes(comm.rank), own.bytes());
  std::unique_ptr<char[]> copy;  // must outlive the second meeting
  const char* begin = static_cast<const char*>(own.buffer) + own.type->true_lb;
  if (!own.type->contiguous) {
    copy.reset(new (std::nothrow) char[std::max<std::size_t>(1, bytes)]);
    begin = copy.get();
    if (begin != nullptr) {
      own.pack_to(copy.get(), 0, bytes);
    }
  }
  bool all_exposed = true;
  {
    // Not what those with deposits say: nobody takes an address for data.
    Meeting meeting(comm, state, what(Code::allgather, 1, sum));
    meeting.deposit(sizeof(Exposure));
    exposure_of(meeting, comm.rank).address =
        copy != nullptr || own.type->contiguous ? reinterpret_cast<std::uint64_t>(begin) : 0;
    meeting.mine().total = bytes;
    if (const int error = meet(meeting); error != MPI_SUCCESS) {
      return error;
    }
    for (int member = 0; member < comm.size; ++member) {
      all_exposed = all_exposed &&
                    (exposure_of(meeting, member).address != 0 || meeting.slot(member).total == 0);
    }
    for (int distance = 1; distance < comm.size && all_exposed; ++distance) {
      const int from = (comm.rank + distance) % comm.size;
      receive[from].unpack_from(reinterpret_cast<const void*>(exposure_of(meeting, from).address),
                                0, meeting.slot(from).total, streams);
    }
  }
  if (!all_exposed) {
    state.exposes = false;
    return refused;
  }
  return give_back(comm, state, true);
}

}  // namespace meantime::coll
