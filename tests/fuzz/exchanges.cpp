// Sends and receives in one call, partitioned messages, cancelled receives.
#include <numeric>

#include "layout.h"
#include "pool.h"
#include "team.h"

namespace fuzz {
namespace {

/// A team of this rank, or nullptr.
const Team* draw_team(Operation& op, bool may_be_inter) {
  const Team& team =
      *op.run
           .teams[static_cast<std::size_t>(op.random.below(static_cast<int>(op.run.teams.size())))];
  return team.comm == MPI_COMM_NULL || (team.inter && !may_be_inter) ? nullptr : &team;
}

std::uint64_t of_status(const MPI_Status& status, MPI_Datatype type) {
  int count = 0;
  MUST(MPI_Get_count(&status, type, &count));
  return mix(mix(static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(status.MPI_TAG)),
             static_cast<std::uint64_t>(status.MPI_SOURCE));
}

}  // namespace

void exchange(Operation& op) {
  Random& random = op.random;
  const Team* team = draw_team(op, false);
  if (team == nullptr) {
    return;
  }
  const int n = team->size(), shift = random.below(n), tag = random.below(4);
  const bool open = random.chance(30);  // no ring: the ends talk to nobody
  int to = team->rank + shift, from = team->rank - shift;
  to = to < n ? to : open ? MPI_PROC_NULL : to - n;
  from = from >= 0 ? from : open ? MPI_PROC_NULL : from + n;
  int way = random.below(4);
  const Layouts layouts(random, way < 2 ? 2 : 1, 20);
  const long times = layouts.times_of(message_bytes(random, op.run.limit));
  const std::uint64_t seed = mix(op.seed, static_cast<std::uint64_t>(team->rank));
  const Layout &out = layouts.of(0), &in = layouts.of(1);
  const int sends = layouts.count(0, times), receives = layouts.count(1, times);
  const Buffer from_here(out, sends, seed);
  auto buffer = std::make_shared<Buffer>(in, receives, way < 2 ? ~seed : seed);
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  if (op.run.plain && way % 2 == 1) {  // the same without a request
    --way;
  }
  switch (way) {
    case 0:
      MUST(MPI_Sendrecv(from_here.at, sends, out.type, to, tag, buffer->at, receives, in.type, from,
                        tag, team->comm, &status));
      break;
    case 1:
      MUST(MPI_Isendrecv(from_here.at, sends, out.type, to, tag, buffer->at, receives, in.type,
                         from, tag, team->comm, &request));
      break;
    case 2:
      MUST(MPI_Sendrecv_replace(buffer->at, receives, in.type, to, tag, from, tag, team->comm,
                                &status));
      break;
    default:
      MUST(MPI_Isendrecv_replace(buffer->at, receives, in.type, to, tag, from, tag, team->comm,
                                 &request));
      break;
  }
  if (request != MPI_REQUEST_NULL) {
    MUST(MPI_Wait(&request, &status));
  }
  op.digest.add(4, mix(buffer->hash(), of_status(status, in.type)));
}

void partitioned(Operation& op) {
  Random& random = op.random;
  const Team* team = draw_team(op, true);
  if (team == nullptr) {
    return;
  }
  const int side = random.below(2), other = team->inter ? 1 - side : side;
  const int from = random.below(team->sizes[side]), to = random.below(team->sizes[other]);
  const int tag = random.below(3), rounds = random.between(1, 3);
  const int send_parts = random.between(1, 6), receive_parts = random.between(1, 6);
  const Layouts layouts(random, 2, 6);
  const long whole = std::lcm(send_parts, receive_parts);
  const long times =
      (layouts.times_of(message_bytes(random, op.run.limit)) + whole - 1) / whole * whole;
  const int sends = layouts.count(0, times) / send_parts;
  const int receives = layouts.count(1, times) / receive_parts;
  const bool i_send = (!team->inter || team->side == side) && team->rank == from;
  const bool i_receive = (!team->inter || team->side == other) && team->rank == to;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  Buffer out(layouts.of(0), layouts.count(0, times), op.seed);
  Buffer in(layouts.of(1), layouts.count(1, times), ~op.seed);
  if (i_receive) {
    MUST(MPI_Precv_init(in.at, receive_parts, receives, layouts.of(1).type, from, tag, team->comm,
                        MPI_INFO_NULL, &requests[1]));
  }
  if (i_send) {
    MUST(MPI_Psend_init(out.at, send_parts, sends, layouts.of(0).type, to, tag, team->comm,
                        MPI_INFO_NULL, &requests[0]));
  }
  for (int round = 0; round < rounds; ++round) {
    if (i_receive) {
      MUST(MPI_Start(&requests[1]));
    }
    if (i_send) {
      out.fill(op.seed + static_cast<std::uint64_t>(round));
      MUST(MPI_Start(&requests[0]));
      std::vector<int> order(static_cast<std::size_t>(send_parts));
      std::iota(order.begin(), order.end(), 0);
      op.run.own.shuffle(order);
      if (op.run.own.chance(20)) {
        MUST(MPI_Pready_range(0, send_parts - 1, requests[0]));
      } else if (op.run.own.chance(20)) {
        MUST(MPI_Pready_list(send_parts, order.data(), requests[0]));
      } else {
        for (const int part : order) {
          MUST(MPI_Pready(part, requests[0]));
        }
      }
    }
    if (i_receive && !i_send && op.run.own.chance(50)) {
      for (int part = 0; part < receive_parts; ++part) {
        int there = 0;
        while (there == 0) {
          MUST(MPI_Parrived(requests[1], part, &there));
        }
      }
    }
    MPI_Status statuses[2];
    MUST(MPI_Waitall(2, requests, statuses));
    if (i_receive) {
      op.digest.add(5, in.hash());
    }
  }
  for (MPI_Request& request : requests) {
    if (request != MPI_REQUEST_NULL) {
      MUST(MPI_Request_free(&request));
    }
  }
}

void cancelled(Operation& op) {
  const Team* team = draw_team(op, true);
  if (team == nullptr) {
    return;
  }
  constexpr int nobodys = 31000;  // a tag that nobody sends
  int bytes[4] = {1, 2, 3, 4};
  MPI_Request request;
  const bool any = op.random.chance(50);
  if (op.random.chance(50)) {
    MUST(MPI_Irecv(bytes, 4, MPI_INT, any ? MPI_ANY_SOURCE : 0, nobodys, team->comm, &request));
    MUST(MPI_Cancel(&request));
  } else {
    MUST(MPI_Recv_init(bytes, 4, MPI_INT, any ? MPI_ANY_SOURCE : 0, nobodys, team->comm, &request));
    MUST(MPI_Start(&request));
    MUST(MPI_Cancel(&request));
  }
  MPI_Status status;
  MUST(MPI_Wait(&request, &status));
  int flag = 0;
  MUST(MPI_Test_cancelled(&status, &flag));
  if (request != MPI_REQUEST_NULL) {
    MUST(MPI_Request_free(&request));
  }
  op.digest.add(6, mix(hash_bytes(bytes, sizeof bytes), static_cast<std::uint64_t>(flag)));
}

}  // namespace fuzz
