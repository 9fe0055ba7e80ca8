// Schedules of reductions. The accumulator starts as the highest rank's value and is joined with
// the others downwards, v0 op (v1 op (v2 …)), as in shared_reduce.cpp: the same bits.
//   share    the elements that a member joins for all in a long reduction, which is split
#include <algorithm>
#include <cstdint>

#include "coll/schedule/plans.h"
#include "coll/thresholds.h"

namespace meantime::coll::plans {
namespace {

/// Receives the values of all peers (of an intracommunicator's own rank it is `own`) and joins them
/// in `accumulator`.
void collect(Schedule& schedule, const Reduction& reduction, const void* own, Piece accumulator,
             Communicator& comm) {
  const int peers = comm.peers();
  std::vector<const void*> values(peers);
  for (int peer = 0; peer < peers; ++peer) {
    if (!comm.is_inter() && peer == comm.rank) {
      values[peer] = own;
      continue;
    }
    const Piece place =
        peer == peers - 1 ? accumulator : schedule.elements(reduction.count, reduction.type);
    values[peer] = place.buffer;
    schedule.receive(place, peer);
  }
  schedule.fence();
  if (values[peers - 1] != accumulator.buffer) {
    schedule.copy({values[peers - 1], reduction.count, reduction.type}, accumulator);
  }
  for (int peer = peers - 2; peer >= 0; --peer) {
    schedule.reduce(values[peer], accumulator.buffer, reduction.count, reduction.type,
                    reduction.op);
  }
}

/// In place, the input must be out of the accumulator's way.
const void* own_input(Schedule& schedule, const Reduction& reduction) {
  if (reduction.send != MPI_IN_PLACE) {
    return reduction.send;
  }
  const Piece aside = schedule.elements(reduction.count, reduction.type);
  schedule.copy({reduction.receive, reduction.count, reduction.type}, aside);
  return aside.buffer;
}

struct Share {
  MPI_Count first;
  MPI_Count count;
};

Share share_of(int member, const Reduction& reduction, const Communicator& comm) {
  const MPI_Count each = reduction.count / comm.size;
  const MPI_Count longer = reduction.count % comm.size;  // the first so many have one more
  return {member * each + std::min<MPI_Count>(member, longer), each + (member < longer ? 1 : 0)};
}

/// All members find the same, as all give as much.
bool is_split(const Reduction& reduction, const Communicator& comm) {
  const auto bytes = static_cast<std::size_t>(reduction.count * reduction.type.size);
  return comm.size > 1 && reduction.count >= comm.size &&
         bytes / static_cast<std::size_t>(comm.size) >= thresholds::share_by_message;
}

/// Those elements of the input and of the result.
Reduction part_of(const Reduction& reduction, Share share) {
  // Also from MPI_BOTTOM on, and from the NULL of who gets nothing.
  const auto at = [&](const void* buffer) {
    return reinterpret_cast<void*>(
        reinterpret_cast<std::uintptr_t>(buffer) +
        static_cast<std::uintptr_t>(share.first * reduction.type.extent));
  };
  return {reduction.send == MPI_IN_PLACE ? MPI_IN_PLACE : at(reduction.send), at(reduction.receive),
          share.count, reduction.type, reduction.op};
}

/// To whoever joins it.
void send_share(Schedule& schedule, const Reduction& reduction, Share share, int to) {
  if (share.count > 0) {
    const Reduction part = part_of(reduction, share);
    schedule.send({part.input(), part.count, part.type}, to);
  }
}

/// Everybody joins a share and sends it to all. In place, the shares of the input have left when
/// the others' results come: `collect` has a fence.
void split_allreduce(Schedule& schedule, const Reduction& reduction, Communicator& comm) {
  const Share mine = share_of(comm.rank, reduction, comm);
  for (int peer = 0; peer < comm.size; ++peer) {
    if (peer != comm.rank) {
      send_share(schedule, reduction, share_of(peer, reduction, comm), peer);
    }
  }
  const Reduction own = part_of(reduction, mine);
  const Piece sum{own.receive, own.count, own.type};
  collect(schedule, own, own_input(schedule, own), sum, comm);
  for (int peer = 0; peer < comm.size; ++peer) {
    if (peer != comm.rank) {
      const Reduction theirs = part_of(reduction, share_of(peer, reduction, comm));
      schedule.send(sum, peer);
      schedule.receive({theirs.receive, theirs.count, theirs.type}, peer);
    }
  }
}

/// Everybody joins what it gets. In place, that is over the input.
void split_reduce_scatter(Schedule& schedule, const Reduction& reduction,
                          const MemberCounts& counts, Communicator& comm) {
  Share mine{0, counts[comm.rank]};
  MPI_Count first = 0;
  for (int member = 0; member < comm.size; ++member) {
    if (member == comm.rank) {
      mine.first = first;
    } else {
      send_share(schedule, reduction, {first, counts[member]}, member);
    }
    first += counts[member];
  }
  const Piece result{reduction.receive, mine.count, reduction.type};
  if (mine.count == 0) {
    return;
  }
  const Reduction own = part_of(reduction, mine);
  if (reduction.send != MPI_IN_PLACE) {
    collect(schedule, own, own.input(), result, comm);
    return;
  }
  const Piece sum = schedule.elements(mine.count, reduction.type);
  collect(schedule, own, own.input(), sum, comm);
  schedule.copy(sum, result);
}

}  // namespace

int reduce(Schedule& schedule, const Reduction& reduction, int root, Communicator& comm) {
  if (!comm.takes_part(root)) {
    return MPI_SUCCESS;
  }
  if (!comm.is_root(root)) {
    schedule.send({reduction.send, reduction.count, reduction.type}, root);
    return MPI_SUCCESS;
  }
  const void* own = comm.is_inter() ? nullptr : own_input(schedule, reduction);
  collect(schedule, reduction, own, {reduction.receive, reduction.count, reduction.type}, comm);
  return MPI_SUCCESS;
}

int allreduce(Schedule& schedule, const Reduction& reduction, Communicator& comm) {
  const Piece result{reduction.receive, reduction.count, reduction.type};
  const Piece input{reduction.input(), reduction.count, reduction.type};
  if (comm.is_inter()) {
    // The result is the other group's: all of its values come here.
    for (int peer = 0; peer < comm.peers(); ++peer) {
      schedule.send(input, peer);
    }
    collect(schedule, reduction, nullptr, result, comm);
    return MPI_SUCCESS;
  }
  // Two members would send as much as before, and in twice as many messages.
  if (comm.size > 2 && is_split(reduction, comm)) {
    split_allreduce(schedule, reduction, comm);
    return MPI_SUCCESS;
  }
  if (comm.rank != 0) {
    schedule.send(input, 0);
    if (reduction.send == MPI_IN_PLACE) {
      schedule.fence();  // the buffer is received into next
    }
    schedule.receive(result, 0);
    return MPI_SUCCESS;
  }
  collect(schedule, reduction, own_input(schedule, reduction), result, comm);
  for (int peer = 1; peer < comm.size; ++peer) {
    schedule.send(result, peer);
  }
  return MPI_SUCCESS;
}

int scan(Schedule& schedule, const Reduction& reduction, bool inclusive, Communicator& comm) {
  // A chain, in which every rank waits for the one below. `sum` is what goes up.
  const Piece result{reduction.receive, reduction.count, reduction.type};
  const Piece input{reduction.input(), reduction.count, reduction.type};
  const Piece sum = inclusive ? result : schedule.elements(reduction.count, reduction.type);
  if (!(inclusive && reduction.send == MPI_IN_PLACE)) {
    schedule.copy(input, sum);
  }
  if (comm.rank > 0) {
    const Piece below = inclusive ? schedule.elements(reduction.count, reduction.type) : result;
    schedule.receive(below, comm.rank - 1);
    schedule.fence();
    if (inclusive || comm.rank + 1 < comm.size) {
      schedule.reduce(below.buffer, sum.buffer, reduction.count, reduction.type, reduction.op);
    }
  }
  if (comm.rank + 1 < comm.size) {
    schedule.send(sum, comm.rank + 1);
  }
  return MPI_SUCCESS;
}

int reduce_scatter(Schedule& schedule, const Reduction& reduction, const MemberCounts& counts,
                   Communicator& comm) {
  MPI_Count first = 0;
  for (int member = 0; member < comm.rank; ++member) {
    first += counts[member];
  }
  const auto part = [&](const void* buffer, MPI_Count from, MPI_Count count) {
    return Piece{static_cast<const char*>(buffer) + from * reduction.type.extent, count,
                 reduction.type};
  };
  const Piece result{reduction.receive, counts[comm.rank], reduction.type};
  if (comm.is_inter()) {
    // The sum of the other group's vectors, of which this rank takes its part. Who takes which part
    // is known to the takers only.
    for (int peer = 0; peer < comm.peers(); ++peer) {
      schedule.send({reduction.send, reduction.count, reduction.type}, peer);
    }
    const Piece all = schedule.elements(reduction.count, reduction.type);
    collect(schedule, reduction, nullptr, all, comm);
    schedule.copy(part(all.buffer, first, result.count), result);
    return MPI_SUCCESS;
  }
  if (is_split(reduction, comm)) {
    split_reduce_scatter(schedule, reduction, counts, comm);
    return MPI_SUCCESS;
  }
  if (comm.rank != 0) {
    schedule.send({reduction.input(), reduction.count, reduction.type}, 0);
    if (reduction.send == MPI_IN_PLACE) {
      schedule.fence();
    }
    schedule.receive(result, 0);
    return MPI_SUCCESS;
  }
  const Piece all = schedule.elements(reduction.count, reduction.type);
  collect(schedule, reduction, reduction.input(), all, comm);
  first = 0;
  for (int member = 0; member < comm.size; ++member) {
    const Piece share = part(all.buffer, first, counts[member]);
    if (member == 0) {
      schedule.copy(share, result);
    } else {
      schedule.send(share, member);
    }
    first += counts[member];
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::coll::plans
