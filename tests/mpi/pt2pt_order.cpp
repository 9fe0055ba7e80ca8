// Non-overtaking: messages of one (source, destination, communicator) that match the same
// receives are received in the order sent, whatever their sizes and protocols (MPI 5.0, 3.5);
// any source and any tag; two receives that both match take the earlier message first.
#include "check.h"

using namespace check;

static const int mixed_sizes[] = {0,  8,     100000, 1,  70000, 0, 4096, 300000,
                                  64, 65536, 0,      32, 16384, 3, 257,  8192};

static int size_of(int sender, int sequence) {
  Random random(uint64_t(sender) * 7919 + sequence);
  return mixed_sizes[random.below(16)];
}

// What is sent: sender, sequence number, then a pattern, as far as the size goes.
static void compose(std::vector<unsigned char>& buffer, int sender, int sequence) {
  buffer.resize(size_of(sender, sequence));
  fill(buffer.data(), buffer.size(), uint64_t(sender) * 1000003 + sequence);
}

static void check_message(const std::vector<unsigned char>& buffer, const MPI_Status& status,
                          int sequence, const char* what) {
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  const int sender = status.MPI_SOURCE, expected = size_of(sender, sequence);
  CHECK(count == expected, "%s: message %d of %d has %d bytes, not %d", what, sequence, sender,
        count, expected);
  if (count != expected) return;
  long wrong = first_wrong(buffer.data(), count, uint64_t(sender) * 1000003 + sequence);
  CHECK(wrong < 0, "%s: message %d of %d (%d bytes): byte %ld wrong", what, sequence, sender, count,
        wrong);
}

// All send to all others, wildcard receives; per source the order must hold.
static void wildcard(int messages, bool preposted, bool any_tag) {
  std::vector<std::vector<unsigned char>> out;
  std::vector<MPI_Request> sends;
  const int incoming = messages * size;
  std::vector<std::vector<unsigned char>> in(incoming);
  std::vector<MPI_Request> receives(incoming, MPI_REQUEST_NULL);
  const int tag = any_tag ? MPI_ANY_TAG : 3;
  if (preposted)
    for (int i = 0; i < incoming; ++i) {
      in[i].resize(300000);
      MUST(MPI_Irecv(in[i].data(), 300000, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                     &receives[i]));
    }
  out.resize(incoming);
  sends.resize(incoming);
  for (int m = 0, i = 0; m < messages; ++m)
    for (int to = 0; to < size; ++to, ++i) {
      compose(out[i], rank, m);
      MUST(MPI_Isend(out[i].data(), static_cast<int>(out[i].size()), MPI_BYTE, to, 3,
                     MPI_COMM_WORLD, &sends[i]));
    }
  std::vector<int> next(size, 0);
  for (int i = 0; i < incoming; ++i) {
    MPI_Status status;
    if (preposted) {
      MUST(MPI_Wait(&receives[i], &status));
    } else {
      in[i].resize(300000);
      MUST(MPI_Recv(in[i].data(), 300000, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
    }
    CHECK(status.MPI_TAG == 3);
    check_message(in[i], status, next[status.MPI_SOURCE]++, preposted ? "preposted" : "unexpected");
  }
  for (int s = 0; s < size; ++s) CHECK(next[s] == messages, "from %d: %d", s, next[s]);
  MUST(MPI_Waitall(incoming, sends.data(), MPI_STATUSES_IGNORE));
}

// Tags taken out of order of sending: each tag's stream keeps its own order.
static void tags_backwards(int messages) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size, tags = 4;
  std::vector<std::vector<unsigned char>> out(messages);
  std::vector<MPI_Request> sends(messages);
  for (int m = 0; m < messages; ++m) {
    compose(out[m], rank, m);
    MUST(MPI_Isend(out[m].data(), static_cast<int>(out[m].size()), MPI_BYTE, to, 20 + m % tags,
                   MPI_COMM_WORLD, &sends[m]));
  }
  std::vector<unsigned char> in(300000);
  for (int t = tags - 1; t >= 0; --t)
    for (int m = t; m < messages; m += tags) {
      MPI_Status status;
      MUST(MPI_Recv(in.data(), 300000, MPI_BYTE, from, 20 + t, MPI_COMM_WORLD, &status));
      check_message(in, status, m, "tags backwards");
    }
  MUST(MPI_Waitall(messages, sends.data(), MPI_STATUSES_IGNORE));
}

// Posted: specific, any source, any tag, both any, in turn: each message to the first that fits.
static void mixed_receives(int messages) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<std::vector<unsigned char>> out(messages), in(messages);
  std::vector<MPI_Request> sends(messages), receives(messages);
  for (int m = 0; m < messages; ++m) {
    in[m].resize(300000);
    MUST(MPI_Irecv(in[m].data(), 300000, MPI_BYTE, m & 1 ? MPI_ANY_SOURCE : from,
                   m & 2 ? MPI_ANY_TAG : 9, MPI_COMM_WORLD, &receives[m]));
  }
  for (int m = 0; m < messages; ++m) {
    compose(out[m], rank, m);
    MUST(MPI_Isend(out[m].data(), static_cast<int>(out[m].size()), MPI_BYTE, to, 9, MPI_COMM_WORLD,
                   &sends[m]));
  }
  for (int m = messages - 1; m >= 0; --m) {
    MPI_Status status;
    MUST(MPI_Wait(&receives[m], &status));
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 9);
    check_message(in[m], status, m, "mixed receives");
  }
  MUST(MPI_Waitall(messages, sends.data(), MPI_STATUSES_IGNORE));
}

// Blocking sends of the neighbour while this rank is late.
static void blocking_stream(int messages) {
  const int peer = rank ^ 1;
  if (peer >= size) return;
  std::vector<unsigned char> buffer;
  for (int direction = 0; direction < 2; ++direction)
    for (int m = 0; m < messages; ++m) {
      if ((rank & 1) == direction) {
        compose(buffer, rank, m);
        MUST(MPI_Send(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, peer, 4,
                      MPI_COMM_WORLD));
      } else {
        if (m == 0) sleep_ms(20);
        buffer.resize(300000);
        MPI_Status status;
        MUST(MPI_Recv(buffer.data(), 300000, MPI_BYTE, m % 3 ? peer : MPI_ANY_SOURCE,
                      m % 2 ? 4 : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == peer && status.MPI_TAG == 4);
        check_message(buffer, status, m, "blocking stream");
      }
    }
}

// Nobody leaves before all have come; on a communicator of its own, unseen by the wildcards.
static void separate(MPI_Comm comm) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int lap = 0; lap < 2 && size > 1; ++lap) {
    if (rank) MUST(MPI_Recv(nullptr, 0, MPI_INT, last, 500, comm, MPI_STATUS_IGNORE));
    MUST(MPI_Send(nullptr, 0, MPI_INT, next, 500, comm));
    if (!rank) MUST(MPI_Recv(nullptr, 0, MPI_INT, last, 500, comm, MPI_STATUS_IGNORE));
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int messages = option("messages", 200 / size + 8);
  MPI_Comm apart;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &apart));
  for (int round = 0; round < 2; ++round) {
    wildcard(messages, true, round);
    separate(apart);
    wildcard(messages, false, round);
    separate(apart);
    blocking_stream(messages);
    separate(apart);
    tags_backwards(messages);
    separate(apart);
    mixed_receives(messages);
    separate(apart);
  }
  MUST(MPI_Comm_free(&apart));
  return finish();
}
