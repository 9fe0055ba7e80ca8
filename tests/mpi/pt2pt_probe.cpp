// Probe, Iprobe, Mprobe, Improbe, Mrecv, Imrecv: what a probe shows is what the next matching
// receive gets; a message taken by a matched probe is nobody else's.
#include "check.h"

using namespace check;

static int next_rank, last_rank;

static void check_status(const MPI_Status& status, int from, int tag, int bytes, const char* what) {
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(status.MPI_SOURCE == from && status.MPI_TAG == tag && count == bytes,
        "%s: source %d tag %d count %d, not %d %d %d", what, status.MPI_SOURCE, status.MPI_TAG,
        count, from, tag, bytes);
}

static void check_bytes(const std::vector<unsigned char>& in, int bytes, int seed,
                        const char* what) {
  long wrong = first_wrong(in.data(), bytes, seed);
  CHECK(wrong < 0, "%s: %d bytes: byte %ld wrong", what, bytes, wrong);
}

// Probe in one of four ways, then receive exactly as many bytes as it said.
// A tag of its own each time: the neighbour may be far ahead.
static void probe_then_receive(int way, int bytes, int tag) {
  std::vector<unsigned char> out(bytes), in(bytes + 1);
  fill(out.data(), bytes, rank * 1000 + way);
  MPI_Request request;
  MUST(MPI_Isend(out.data(), bytes, MPI_BYTE, next_rank, tag, MPI_COMM_WORLD, &request));
  const bool wild = bytes & 1;
  const int source = wild ? MPI_ANY_SOURCE : last_rank, want = wild ? MPI_ANY_TAG : tag;
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
  int flag = 0;
  switch (way) {
    case 0:
      MUST(MPI_Probe(source, want, MPI_COMM_WORLD, &status));
      break;
    case 1:
      while (!flag) MUST(MPI_Iprobe(source, want, MPI_COMM_WORLD, &flag, &status));
      break;
    case 2:
      MUST(MPI_Mprobe(source, want, MPI_COMM_WORLD, &message, &status));
      break;
    default:
      while (!flag) MUST(MPI_Improbe(source, want, MPI_COMM_WORLD, &flag, &message, &status));
  }
  check_status(status, last_rank, tag, bytes, "probe");
  if (way < 2) {
    MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                  &status));
  } else {
    CHECK(message != MPI_MESSAGE_NULL);
    int seen = 1;  // it left the queue: no other probe finds it
    MUST(MPI_Iprobe(last_rank, tag, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE));
    CHECK(!seen, "a matched message is still probed");
    if (way == 2) {
      MUST(MPI_Mrecv(in.data(), bytes, MPI_BYTE, &message, &status));
    } else {
      MPI_Request receive;
      MUST(MPI_Imrecv(in.data(), bytes, MPI_BYTE, &message, &receive));
      MUST(MPI_Wait(&receive, &status));
    }
    CHECK(message == MPI_MESSAGE_NULL);
  }
  check_status(status, last_rank, tag, bytes, "receive");
  check_bytes(in, bytes, last_rank * 1000 + way, "receive");
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// Matched messages may be received in any order, later messages of the stream before.
static void out_of_order(int bytes) {
  constexpr int n = 8;
  std::vector<std::vector<unsigned char>> out(n), in(n);
  MPI_Request sends[n];
  for (int i = 0; i < n; ++i) {
    out[i].resize(bytes + i);
    in[i].resize(bytes + i);
    fill(out[i].data(), out[i].size(), rank * 100 + i);
    MUST(MPI_Isend(out[i].data(), bytes + i, MPI_BYTE, next_rank, 7, MPI_COMM_WORLD, &sends[i]));
  }
  MPI_Message messages[n / 2];
  for (int i = 0; i < n / 2; ++i) {
    MPI_Status status;
    MUST(MPI_Mprobe(last_rank, 7, MPI_COMM_WORLD, &messages[i], &status));
    check_status(status, last_rank, 7, bytes + i, "out of order");
  }
  for (int i = n / 2; i < n; ++i) {
    MPI_Status status;
    MUST(MPI_Recv(in[i].data(), bytes + i, MPI_BYTE, last_rank, 7, MPI_COMM_WORLD, &status));
    check_bytes(in[i], bytes + i, last_rank * 100 + i, "after matched ones");
  }
  for (int i = n / 2 - 1; i >= 0; --i) {
    MUST(MPI_Mrecv(in[i].data(), bytes + i, MPI_BYTE, &messages[i], MPI_STATUS_IGNORE));
    check_bytes(in[i], bytes + i, last_rank * 100 + i, "matched, backwards");
  }
  MUST(MPI_Waitall(n, sends, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  start(argc, argv);
  next_rank = (rank + 1) % size;
  last_rank = (rank + size - 1) % size;
  int tag = 100;
  for (int bytes : sizes_to(300000))
    for (int way = 0; way < 4; ++way) probe_then_receive(way, bytes, tag++);
  for (int bytes : {0, 100, 5000, 100000}) out_of_order(bytes);

  // Nothing sent with this tag: never found, also after many turns.
  int flag = 0;
  MPI_Message message;
  for (int i = 0; i < 1000; ++i) {
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, 9999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MUST(MPI_Improbe(MPI_ANY_SOURCE, 9999, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    CHECK(!flag);
  }
  // A probe does not wait for a null process.
  MPI_Status status;
  MUST(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "null process");
  MUST(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status));
  CHECK(flag);
  MUST(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MUST(MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, &status));
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "no process");
  CHECK(message == MPI_MESSAGE_NULL);
  return finish();
}
