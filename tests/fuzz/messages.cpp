// Messages between two: every way to send meets every way to receive.
#include "layout.h"
#include "pool.h"
#include "team.h"

namespace fuzz {
namespace {

constexpr int own_tags = 10000;  ///< from here on a tag is used once

enum Sending {
  send,
  ssend,
  bsend,
  rsend,
  isend,
  issend,
  ibsend,
  irsend,
  send_init,
  ssend_init,
  bsend_init,
  rsend_init,
  packed,
  sendings
};
enum Receiving {
  recv,
  probe,
  iprobe,
  mprobe,
  improbe,
  irecv,
  recv_init,
  imrecv,
  unpacked,
  receivings
};

bool is_ready(int sending) {
  return sending == rsend || sending == irsend || sending == rsend_init;
}
bool blocks(int receiving) {
  return receiving < irecv || receiving == imrecv || receiving == unpacked;
}

struct Message {
  int from, to, tag;
  Sending sending;
  Receiving receiving;
  int rounds;
  bool any_tag;
  long times;
  int extra;  ///< elements that the receive has room for beyond the message
  std::uint64_t seed;
};

/// What a receive says about itself besides its data.
std::uint64_t of_status(MPI_Status& status, MPI_Datatype type, int unit) {
  int count = 0, elements = 0;
  MPI_Count wide = 0;
  MUST(MPI_Get_count(&status, type, &count));
  // MPICH 5.0.2 counts the elements of some types of different elements wrong, and of pairs.
  if (unit < plain_units - 2) {
    MUST(MPI_Get_elements(&status, type, &elements));
    MUST(MPI_Get_elements_x(&status, type, &wide));
  }
  std::uint64_t hash = mix(static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(elements));
  hash = mix(hash, static_cast<std::uint64_t>(wide));
  hash = mix(hash, static_cast<std::uint64_t>(status.MPI_SOURCE));
  return mix(hash, static_cast<std::uint64_t>(status.MPI_TAG));
}

void make_room(Run& run, long bytes) {
  if (run.buffered + bytes > buffer_bytes) {
    MUST(MPI_Buffer_flush());
    run.buffered = 0;
  }
  run.buffered += bytes;
}

struct Outgoing {
  Operation& op;
  const Team& team;
  const Message& message;
  const Layout& layout;
  int count;

  void start() {
    Run& run = op.run;
    auto buffer = std::make_shared<Buffer>(layout, count, message.seed);
    const std::uint64_t before = buffer->hash();
    const long bytes = static_cast<long>(layout.bytes) * count;
    Sending way = message.sending;
    // Also where it is all of the message: no more than a part of the buffer.
    if ((way == bsend || way == ibsend || way == bsend_init) && bytes > buffer_bytes / 8) {
      way = isend;
    }
    void* at = buffer->at;
    const MPI_Datatype type = layout.type;
    const int to = message.to, tag = message.tag;
    MPI_Comm comm = team.comm;
    MPI_Request request = MPI_REQUEST_NULL;
    if (is_ready(way)) {
      MUST(MPI_Recv(nullptr, 0, MPI_BYTE, to, tag, comm, MPI_STATUS_IGNORE));
    }
    switch (way) {
      case send:
        MUST(MPI_Send(at, count, type, to, tag, comm));
        break;
      case ssend:
        MUST(MPI_Ssend(at, count, type, to, tag, comm));
        break;
      case bsend:
        make_room(run, bytes + MPI_BSEND_OVERHEAD + 64);
        MUST(MPI_Bsend(at, count, type, to, tag, comm));
        break;
      case rsend:
        MUST(MPI_Rsend(at, count, type, to, tag, comm));
        break;
      case isend:
        MUST(MPI_Isend(at, count, type, to, tag, comm, &request));
        break;
      case issend:
        MUST(MPI_Issend(at, count, type, to, tag, comm, &request));
        break;
      case ibsend:
        make_room(run, bytes + MPI_BSEND_OVERHEAD + 64);
        MUST(MPI_Ibsend(at, count, type, to, tag, comm, &request));
        break;
      case irsend:
        MUST(MPI_Irsend(at, count, type, to, tag, comm, &request));
        break;
      case packed: {
        int room = 0, position = 0;
        MUST(MPI_Pack_size(count, type, comm, &room));
        std::vector<unsigned char> bytes_packed(static_cast<std::size_t>(room) + 1);
        MUST(MPI_Pack(at, count, type, bytes_packed.data(), room, &position, comm));
        MUST(MPI_Send(bytes_packed.data(), position, MPI_PACKED, to, tag, comm));
        break;
      }
      default:
        return persistent(buffer, way);
    }
    if (request == MPI_REQUEST_NULL) {
      op.digest.add(1, buffer->hash() ^ before);
      return;
    }
    Digest& digest = op.digest;
    put(request, false,
        [buffer, before, &digest](MPI_Status&) { digest.add(1, buffer->hash() ^ before); });
  }

  void persistent(const std::shared_ptr<Buffer>& buffer, Sending way) {
    Run& run = op.run;
    MPI_Request request;
    auto* call = way == send_init    ? MPI_Send_init
                 : way == ssend_init ? MPI_Ssend_init
                 : way == bsend_init ? MPI_Bsend_init
                                     : MPI_Rsend_init;
    MUST(call(buffer->at, count, layout.type, message.to, message.tag, team.comm, &request));
    for (int round = 1;; ++round) {
      if (way == bsend_init) {
        make_room(run, static_cast<long>(layout.bytes) * count + MPI_BSEND_OVERHEAD + 64);
      }
      if (way == rsend_init && round > 1) {
        MUST(MPI_Recv(nullptr, 0, MPI_BYTE, message.to, message.tag, team.comm, MPI_STATUS_IGNORE));
      }
      MUST(MPI_Start(&request));
      if (round == message.rounds) {
        break;
      }
      MPI_Status status;
      finish(run.own, &request, &status);
      buffer->fill(message.seed + static_cast<std::uint64_t>(round));
    }
    put(request, true, [buffer](MPI_Status&) {});
  }
};

struct Incoming {
  Operation& op;
  const Team& team;
  const Message& message;
  const Layout& layout;
  int count;  ///< of the message; there is room for more

  int tag() const { return message.any_tag ? MPI_ANY_TAG : message.tag; }
  /// Tells a ready sender that a receive is there.
  void tell() const {
    if (is_ready(message.sending)) {
      MUST(MPI_Send(nullptr, 0, MPI_BYTE, message.from, message.tag, team.comm));
    }
  }

  void start() {
    const int room = count + message.extra;
    auto buffer = std::make_shared<Buffer>(layout, room, ~message.seed);
    const int from = message.from;
    MPI_Comm comm = team.comm;
    const MPI_Datatype type = layout.type;
    MPI_Status status;
    MPI_Message matched;
    MPI_Request request = MPI_REQUEST_NULL;
    Digest& digest = op.digest;
    int flag = 0;
    std::uint64_t probed = 0;
    switch (message.receiving) {
      case recv:
        MUST(MPI_Recv(buffer->at, room, type, from, tag(), comm, &status));
        break;
      case probe:
      case iprobe:
        if (message.receiving == probe) {
          MUST(MPI_Probe(from, tag(), comm, &status));
        }
        while (message.receiving == iprobe && flag == 0) {
          MUST(MPI_Iprobe(from, tag(), comm, &flag, &status));
        }
        probed = of_status(status, type, layout.unit);
        MUST(MPI_Recv(buffer->at, room, type, status.MPI_SOURCE, status.MPI_TAG, comm, &status));
        break;
      case mprobe:
      case imrecv:
        MUST(MPI_Mprobe(from, tag(), comm, &matched, &status));
        probed = of_status(status, type, layout.unit);
        if (message.receiving == mprobe) {
          MUST(MPI_Mrecv(buffer->at, room, type, &matched, &status));
        } else {
          MUST(MPI_Imrecv(buffer->at, room, type, &matched, &request));
        }
        break;
      case improbe:
        while (flag == 0) {
          MUST(MPI_Improbe(from, tag(), comm, &flag, &matched, &status));
        }
        probed = of_status(status, type, layout.unit);
        MUST(MPI_Mrecv(buffer->at, room, type, &matched, &status));
        break;
      case irecv:
        MUST(MPI_Irecv(buffer->at, room, type, from, tag(), comm, &request));
        tell();
        break;
      case unpacked: {
        int size = 0, position = 0, got = 0;
        MUST(MPI_Pack_size(count, type, comm, &size));
        std::vector<unsigned char> packed_bytes(static_cast<std::size_t>(size) + 1);
        MUST(MPI_Recv(packed_bytes.data(), size, MPI_PACKED, from, tag(), comm, &status));
        MUST(MPI_Get_count(&status, MPI_PACKED, &got));
        MUST(MPI_Unpack(packed_bytes.data(), got, &position, buffer->at, count, type, comm));
        digest.add(2, mix(buffer->hash(), static_cast<std::uint64_t>(status.MPI_TAG)));
        return;
      }
      default:
        return persistent(buffer);
    }
    if (request == MPI_REQUEST_NULL) {
      digest.add(2, mix(mix(buffer->hash(), of_status(status, type, layout.unit)), probed));
      return;
    }
    later(request, false, buffer, probed);
  }

  void later(MPI_Request request, bool persistent, const std::shared_ptr<Buffer>& buffer,
             std::uint64_t probed) {
    // The layout is gone by then; the type lives on in a duplicate.
    MPI_Datatype type;
    MUST(MPI_Type_dup(layout.type, &type));
    Digest& digest = op.digest;
    put(request, persistent,
        [buffer, probed, type, unit = layout.unit, &digest](MPI_Status& status) mutable {
          digest.add(2, mix(mix(buffer->hash(), of_status(status, type, unit)), probed));
          MUST(MPI_Type_free(&type));
        });
  }

  void persistent(const std::shared_ptr<Buffer>& buffer) {
    MPI_Request request;
    MUST(MPI_Recv_init(buffer->at, count + message.extra, layout.type, message.from, tag(),
                       team.comm, &request));
    for (int round = 1;; ++round) {
      MUST(MPI_Start(&request));
      tell();
      if (round == message.rounds) {
        break;
      }
      MPI_Status status;
      finish(op.run.own, &request, &status);
      op.digest.add(2, mix(buffer->hash(), of_status(status, layout.type, layout.unit)));
    }
    later(request, true, buffer, 0);
  }
};

}  // namespace

void messages(Operation& op) {
  Random& random = op.random;
  const Team& team =
      *op.run.teams[static_cast<std::size_t>(random.below(static_cast<int>(op.run.teams.size())))];
  if (team.comm == MPI_COMM_NULL) {
    return;
  }
  for (int number = random.between(1, 6); number > 0; --number) {
    const int side = random.below(2);
    Message message;
    message.from = random.below(team.sizes[side]);
    message.to = random.below(team.sizes[team.inter ? 1 - side : side]);
    message.tag = random.below(4);
    message.sending = static_cast<Sending>(random.below(sendings));
    message.receiving = static_cast<Receiving>(random.below(receivings));
    message.rounds = random.between(1, 3);
    message.any_tag = random.chance(30);
    message.seed = random.next();
    message.extra = random.chance(30) ? random.between(1, 3) : 0;
    const bool to_myself = !team.inter && message.from == message.to;
    if (to_myself) {
      message.sending = random.chance(50) ? isend : issend;
    }
    if (is_ready(message.sending) && blocks(message.receiving)) {
      message.receiving = irecv;
    }
    if (to_myself && message.receiving == recv_init) {
      message.receiving = irecv;
    }
    // Rounds are each a message: both ends have as many, or one.
    const bool both = message.sending >= send_init && message.sending <= rsend_init &&
                      message.receiving == recv_init;
    if (!both) {
      message.rounds = 1;
    }
    const Layouts layouts(random, 2, random.between(1, 40));
    message.times = layouts.times_of(message_bytes(random, op.run.limit));
    const bool sends = (!team.inter || team.side == side) && team.rank == message.from;
    const bool receives = (!team.inter || team.side != side) && team.rank == message.to;
    Outgoing out{op, team, message, layouts.of(0), layouts.count(0, message.times)};
    Incoming in{op, team, message, layouts.of(1), layouts.count(1, message.times)};
    const bool receive_first = to_myself && random.chance(50) && !blocks(message.receiving);
    if (receives && receive_first) {
      in.start();
    }
    if (sends) {
      out.start();
    }
    if (receives && !receive_first) {
      in.start();
    }
    if (op.run.own.chance(20)) {
      complete_some(op.run.own);
    }
  }
}

void any_source(Operation& op) {
  Random& random = op.random;
  const Team& team =
      *op.run.teams[static_cast<std::size_t>(random.below(static_cast<int>(op.run.teams.size())))];
  if (team.comm == MPI_COMM_NULL) {
    return;
  }
  // With any tag, the receives need a communicator where there is nothing else.
  const bool alone = !team.inter && random.chance(40);
  MPI_Comm comm = team.comm;
  if (alone) {
    comm = make_alike(random, team, op.digest.step * 16 + op.digest.number);
  }
  const int tag = own_tags + (op.digest.step * 16 + op.digest.number) % 20000;
  const int side = random.below(2), from_side = team.inter ? 1 - side : side;
  const int to = random.below(team.sizes[side]), each = random.between(1, 5);
  const bool non_blocking = random.chance(50);
  const Layouts layouts(random, 2, 12);
  const long times = layouts.times_of(message_bytes(random, op.run.limit / 8));
  const std::uint64_t seed = random.next();
  const bool receives = (!team.inter || team.side == side) && team.rank == to;
  const bool sends = (!team.inter || team.side == from_side) && !receives;
  const int senders = team.sizes[from_side] - (team.inter ? 0 : 1);
  const int mine = layouts.count(0, times), theirs = layouts.count(1, times);
  if (sends) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(each));
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int i = 0; i < each; ++i) {
      buffers.push_back(std::make_unique<Buffer>(
          layouts.of(0), mine, mix(seed, static_cast<std::uint64_t>(team.rank * 64 + i))));
      MUST(MPI_Isend(buffers.back()->at, mine, layouts.of(0).type, to, alone ? tag + i : tag, comm,
                     &requests[static_cast<std::size_t>(i)]));
    }
    MUST(MPI_Waitall(each, requests.data(), MPI_STATUSES_IGNORE));
  }
  if (receives) {
    // In the order of the receives, what each sender sent has an order; between senders there is
    // none.
    std::vector<std::uint64_t> streams(static_cast<std::size_t>(team.sizes[from_side]), 1);
    const int all = senders * each, wanted = alone ? MPI_ANY_TAG : tag;
    std::vector<MPI_Request> requests(static_cast<std::size_t>(all), MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(static_cast<std::size_t>(all));
    std::vector<Buffer> buffers;
    for (int i = 0; i < all; ++i) {
      const auto at = static_cast<std::size_t>(i);
      buffers.emplace_back(layouts.of(1), theirs, seed);
      if (non_blocking) {
        MUST(MPI_Irecv(buffers.back().at, theirs, layouts.of(1).type, MPI_ANY_SOURCE, wanted, comm,
                       &requests[at]));
      } else {
        MUST(MPI_Recv(buffers.back().at, theirs, layouts.of(1).type, MPI_ANY_SOURCE, wanted, comm,
                      &statuses[at]));
      }
    }
    if (non_blocking) {
      MUST(MPI_Waitall(all, requests.data(), statuses.data()));
    }
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      std::uint64_t& stream = streams.at(static_cast<std::size_t>(statuses[i].MPI_SOURCE));
      stream = mix(stream, mix(buffers[i].hash(),
                               of_status(statuses[i], layouts.of(1).type, layouts.of(1).unit)));
    }
    for (const std::uint64_t stream : streams) {
      op.digest.add(3, stream);
    }
  }
  if (alone) {
    MUST(MPI_Comm_free(&comm));
  }
}

}  // namespace fuzz
