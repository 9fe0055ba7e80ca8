// Barrier and the collectives that only move data.
#include <algorithm>
#include <utility>
#include <vector>

#include "coll/exposed.h"
#include "coll/exposed_root.h"
#include "coll/meeting.h"
#include "coll/schedule/messages.h"
#include "coll/shared.h"
#include "coll/thresholds.h"
#include "core/error/error.h"

namespace meantime::coll::shared {
namespace {

/// In front of the blocks of a deposit for all: where each member's is.
struct Entry {
  std::uint64_t offset;  ///< from the deposit's begin, or by_message
  std::uint64_t bytes;
};
constexpr std::uint64_t by_message = ~std::uint64_t{0};

int truncated(int from, std::size_t given, std::size_t room) {
  return fail(MPI_ERR_TRUNCATE, "rank {} gave {} bytes where this rank has room for {}", from,
              given, room);
}
int too_few(int from, std::size_t given, std::size_t expected) {
  return fail(MPI_ERR_COUNT, "rank {} gave {} bytes where this rank expects {}", from, given,
              expected);
}

/// What a root or a member of an uneven alltoall gives to all: a table, then the blocks that are
/// small enough.
char* deposit_for_all(Meeting& meeting, const Blocks& blocks, int members, int without,
                      std::size_t most) {
  std::vector<Entry> entries(members);
  const std::size_t table = members * sizeof(Entry);
  std::uint64_t end = table;
  for (int member = 0; member < members; ++member) {
    const std::size_t bytes = member == without ? 0 : blocks.bytes(member);
    const bool fits = bytes <= thresholds::block_by_message(members) && end - table + bytes <= most;
    entries[member] = {fits ? end : by_message, bytes};
    end += fits ? bytes : 0;
  }
  char* place = meeting.deposit(end);
  if (place == nullptr) {
    return nullptr;
  }
  std::copy(entries.begin(), entries.end(), reinterpret_cast<Entry*>(place));
  for (int member = 0; member < members; ++member) {
    if (entries[member].offset != by_message && entries[member].bytes > 0) {
      blocks[member].pack_to(place + entries[member].offset, 0, entries[member].bytes);
    }
  }
  return place;
}

const Entry* table_of(char* deposit) {
  return reinterpret_cast<const Entry*>(deposit);
}

/// Takes one block out of another member's deposit for all.
int take_block(Meeting& meeting, int from, int me, const Piece& piece, Messages& messages) {
  char* deposit = meeting.data(from);
  const Entry& entry = table_of(deposit)[me];
  if (entry.offset == by_message) {
    messages.receive(piece, from);
    return MPI_SUCCESS;
  }
  const std::size_t room = piece.bytes();
  piece.unpack_from(deposit + entry.offset, 0, std::min<std::size_t>(entry.bytes, room));
  return entry.bytes > room ? truncated(from, entry.bytes, room) : MPI_SUCCESS;
}

/// In place, `send` and `receive` are the same. Their addresses do not tell: MPI_BOTTOM is both's
/// where the types have absolute addresses.
int even_alltoall(const Blocks& send, const Blocks& receive, bool in_place, Communicator& comm) {
  State& state = state_of(comm);
  const int members = comm.size;
  const std::size_t block = receive.bytes(0);
  if (block == 0) {
    return MPI_SUCCESS;
  }
  const Piece own = send[comm.rank];
  const Piece to = receive[comm.rank];
  const auto keep_own = [&] { return in_place ? MPI_SUCCESS : copy_own(own, to); };
  if (worth_exposing(comm, block)) {
    const int error = exposed_alltoall(send, receive, in_place, comm);
    if (error != refused) {
      return error == MPI_SUCCESS ? keep_own() : error;
    }
  }
  const std::size_t most =
      std::max<std::size_t>(64, thresholds::round_for_all_of(members) / members);
  const bool streams = thresholds::streams(members, block);
  for (std::size_t offset = 0; offset < block; offset += most) {
    const std::size_t part = std::min(most, block - offset);
    Meeting meeting(comm, state, what(Code::alltoall, 0, block));
    if (char* place = meeting.deposit(members * part)) {
      for (int member = 0; member < members; ++member) {
        if (member != comm.rank) {
          send[member].pack_to(place + member * part, offset, part);
        }
      }
    }
    if (const int error = meet(meeting); error != MPI_SUCCESS) {
      return error;
    }
    if (const int error = meeting.check_deposits(); error != MPI_SUCCESS) {
      return error;
    }
    for (int distance = 1; distance < members; ++distance) {
      const int from = (comm.rank + distance) % members;
      receive[from].unpack_from(meeting.data(from) + comm.rank * part, offset, part, streams);
    }
  }
  return keep_own();
}

int uneven_alltoall(const Blocks& send, const Blocks& receive, bool in_place, Communicator& comm) {
  State& state = state_of(comm);
  const int members = comm.size;
  const int tag = state.next_tag();
  Meeting meeting(comm, state, what(Code::alltoall_table));
  char* place = deposit_for_all(meeting, send, members, -1, thresholds::round_for_all_of(members));
  // In place, what goes by message must be put aside before anything is received over it.
  std::vector<std::vector<char>> aside;
  Messages messages(comm, tag);
  if (int error = meet(meeting); error != MPI_SUCCESS) {
    return error;
  }
  if (int error = meeting.check_deposits(); error != MPI_SUCCESS) {
    return error;
  }
  int error = MPI_SUCCESS;
  if (in_place) {
    for (int to = 0; to < members; ++to) {
      if (table_of(place)[to].offset == by_message) {
        const Piece piece = send[to];
        aside.emplace_back(piece.bytes());
        piece.pack_to(aside.back().data(), 0, piece.bytes());
      }
    }
  }
  for (int distance = 0; distance < members; ++distance) {
    const int from = (comm.rank + distance) % members;
    const int taken = take_block(meeting, from, comm.rank, receive[from], messages);
    error = error == MPI_SUCCESS ? taken : error;
  }
  std::size_t next_aside = 0;
  for (int to = 0; to < members; ++to) {
    if (table_of(place)[to].offset == by_message) {
      if (in_place) {
        const std::vector<char>& bytes = aside[next_aside++];
        messages.send({bytes.data(), static_cast<MPI_Count>(bytes.size()), *resolve(MPI_BYTE)}, to);
      } else {
        messages.send(send[to], to);
      }
    }
  }
  const int moved = messages.finish();
  return error == MPI_SUCCESS ? moved : error;
}

}  // namespace

int barrier(Communicator& comm) {
  Meeting meeting(comm, state_of(comm), what(Code::barrier), false);
  return meet(meeting);
}

int bcast(Piece piece, int root, Communicator& comm) {
  State& state = state_of(comm);
  const std::size_t room = piece.bytes();
  int result = MPI_SUCCESS;
  std::size_t offset = 0;
  std::size_t total = room;  // the root's word counts
  do {
    Meeting meeting(comm, state, what(Code::bcast, root));
    if (comm.rank == root && offset == 0 && root_exposes(piece, comm)) {
      expose(meeting, piece);
      return wait_for_readers(meeting, comm);
    }
    if (comm.rank == root) {
      const std::size_t part = std::min(thresholds::bcast_round(), total - offset);
      if (char* place = meeting.deposit(part)) {
        piece.pack_to(place, offset, part);
      } else {
        result = fail_for_shared_memory("a broadcast");
        total = 0;
      }
      meeting.mine().total = total;
      offset += part;
      meeting.open_root();
      go_on(meeting);
    } else {
      go_on(meeting);
      if (const int error = meeting.pass_root(); error != MPI_SUCCESS) {
        return error;
      }
      if (meeting.failed(root)) {
        return fail_for_shared_memory("a broadcast");
      }
      const Slot& slot = meeting.slot(root);
      if (has_exposed(meeting, root)) {
        total = take(meeting, root, piece, comm);
        offset = total;
      } else {
        total = slot.total;
        if (offset < room) {
          piece.unpack_from(meeting.data(root), offset,
                            std::min<std::size_t>(slot.bytes, room - offset));
        }
        offset += slot.bytes;
      }
      if (total != room) {
        result = total > room ? truncated(root, total, room) : too_few(root, total, room);
      }
    }
  } while (offset < total);
  return result;
}

int gather(Piece send, const Blocks& receive, int root, Communicator& comm) {
  State& state = state_of(comm);
  const int tag = state.next_tag();
  Meeting meeting(comm, state, what(Code::gather, root));
  Messages messages(comm, tag);
  const std::size_t block_by_message = thresholds::block_by_message(comm.size);
  if (comm.rank != root) {
    const std::size_t bytes = send.bytes();
    meeting.mine().total = bytes;
    const bool message = bytes > block_by_message;
    if (char* place = meeting.deposit(message ? 0 : bytes, root); place != nullptr && !message) {
      send.pack_to(place, 0, bytes);
    }
    const bool failed = meeting.failed(comm.rank);
    go_on(meeting);
    if (message) {
      messages.send(send, root);
      return messages.finish();
    }
    return failed ? fail_for_shared_memory("a gather") : MPI_SUCCESS;
  }
  int error = meet(meeting);
  if (error != MPI_SUCCESS) {
    return error;
  }
  for (int from = 0; from < comm.size; ++from) {
    const Piece piece = receive[from];
    if (from == root) {
      if (!send.in_place()) {
        const int copied = copy_own(send, piece);
        error = error == MPI_SUCCESS ? copied : error;
      }
      continue;
    }
    const Slot& slot = meeting.slot(from);
    if (meeting.failed(from)) {
      error = fail_for_shared_memory("a gather");
    } else if (slot.total > block_by_message) {
      messages.receive(piece, from);
    } else {
      const std::size_t room = piece.bytes();
      piece.unpack_from(meeting.data(from), 0, std::min<std::size_t>(slot.total, room));
      if (slot.total > room) {
        error = truncated(from, slot.total, room);
      }
    }
  }
  const int received = messages.finish();
  return error == MPI_SUCCESS ? received : error;
}

int scatter(const Blocks& send, Piece receive, int root, Communicator& comm) {
  State& state = state_of(comm);
  const int tag = state.next_tag();
  Meeting meeting(comm, state, what(Code::scatter, root));
  Messages messages(comm, tag);
  const auto keep_own = [&] {
    const Piece own = send[root];
    return receive.in_place() ? MPI_SUCCESS : copy_own(own, receive);
  };
  if (comm.rank == root) {
    if (ExposedPieces pieces = pieces_to_expose(send, root, comm)) {
      expose(meeting, pieces);
      const int kept = keep_own();
      const int error = wait_for_readers(meeting, comm, std::move(pieces));
      return error == MPI_SUCCESS ? kept : error;
    }
    char* place = deposit_for_all(meeting, send, comm.size, root,
                                  thresholds::within_segment(thresholds::round_for_all));
    meeting.open_root();
    go_on(meeting);
    if (place == nullptr) {
      return fail_for_shared_memory("a scatter");
    }
    for (int to = 0; to < comm.size; ++to) {
      if (table_of(place)[to].offset == by_message) {
        messages.send(send[to], to);
      }
    }
    const int error = keep_own();
    const int sent = messages.finish();
    return error == MPI_SUCCESS ? sent : error;
  }
  go_on(meeting);
  if (const int error = meeting.pass_root(); error != MPI_SUCCESS) {
    return error;
  }
  if (meeting.failed(root)) {
    return fail_for_shared_memory("a scatter");
  }
  if (has_exposed(meeting, root)) {
    const std::size_t bytes = take_mine(meeting, root, receive, comm);
    return bytes > receive.bytes() ? truncated(root, bytes, receive.bytes()) : MPI_SUCCESS;
  }
  const int error = take_block(meeting, root, comm.rank, receive, messages);
  const int received = messages.finish();
  return error == MPI_SUCCESS ? received : error;
}

int allgather(Piece send, const Blocks& receive, Communicator& comm) {
  State& state = state_of(comm);
  std::vector<std::size_t> bytes(comm.size);
  std::size_t longest = 0;
  std::size_t sum = 0;
  for (int member = 0; member < comm.size; ++member) {
    bytes[member] = receive.bytes(member);
    longest = std::max(longest, bytes[member]);
    sum += bytes[member];
  }
  const Piece own = send.in_place() ? receive[comm.rank] : send;
  const std::size_t room = bytes[comm.rank];
  int result = own.bytes() > room ? truncated(comm.rank, own.bytes(), room) : MPI_SUCCESS;
  std::size_t offset = 0;
  if (state.in_host && state.exposes && longest >= thresholds::exposed_allgather) {
    const int error = exposed_allgather(own, receive, sum, comm);
    if (error != MPI_SUCCESS && error != refused) {
      return error;
    }
    offset = error == MPI_SUCCESS ? longest : 0;
  }
  const std::size_t round = thresholds::round_of(comm.size);
  for (; offset < longest; offset += round) {
    Meeting meeting(comm, state, what(Code::allgather, 0, sum));
    const std::size_t end = std::min(room, own.bytes());
    const std::size_t part = offset < end ? std::min(round, end - offset) : 0;
    if (char* place = meeting.deposit(part)) {
      own.pack_to(place, offset, part);
    }
    int error = meet(meeting);
    error = error == MPI_SUCCESS ? meeting.check_deposits() : error;
    if (error != MPI_SUCCESS) {
      return error;
    }
    for (int distance = 1; distance < comm.size; ++distance) {
      const int from = (comm.rank + distance) % comm.size;
      receive[from].unpack_from(meeting.data(from), offset, meeting.slot(from).bytes);
    }
  }
  if (!send.in_place()) {
    const Piece to = receive[comm.rank];
    const int copied = copy_own(send, to);
    result = result == MPI_SUCCESS ? copied : result;
  }
  return result;
}

int alltoall(const Blocks& send, const Blocks& receive, Communicator& comm) {
  const bool in_place = send.in_place();
  const Blocks& input = in_place ? receive : send;
  return receive.even() ? even_alltoall(input, receive, in_place, comm)
                        : uneven_alltoall(input, receive, in_place, comm);
}

}  // namespace meantime::coll::shared
