// Every send mode, blocking and not, with every kind of receive, over sizes around all protocol
// thresholds; each rank to each rank, itself included. Status fields; nothing written beyond.
#include "check.h"

using namespace check;

enum Mode { SEND, SSEND, RSEND, BSEND, ISEND, ISSEND, IRSEND, IBSEND, MODES };
static const char* const mode_names[MODES] = {"Send",  "Ssend",  "Rsend",  "Bsend",
                                              "Isend", "Issend", "Irsend", "Ibsend"};

static bool ready(int mode) {
  return mode == RSEND || mode == IRSEND;
}

// The call of this mode; a request for those that have one, else MPI_REQUEST_NULL.
static MPI_Request send(int mode, const void* data, int bytes, int to, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_WORLD;
  switch (mode) {
    case SEND:
      MUST(MPI_Send(data, bytes, MPI_BYTE, to, tag, comm));
      break;
    case SSEND:
      MUST(MPI_Ssend(data, bytes, MPI_BYTE, to, tag, comm));
      break;
    case RSEND:
      MUST(MPI_Rsend(data, bytes, MPI_BYTE, to, tag, comm));
      break;
    case BSEND:
      MUST(MPI_Bsend(data, bytes, MPI_BYTE, to, tag, comm));
      break;
    case ISEND:
      MUST(MPI_Isend(data, bytes, MPI_BYTE, to, tag, comm, &request));
      break;
    case ISSEND:
      MUST(MPI_Issend(data, bytes, MPI_BYTE, to, tag, comm, &request));
      break;
    case IRSEND:
      MUST(MPI_Irsend(data, bytes, MPI_BYTE, to, tag, comm, &request));
      break;
    case IBSEND:
      MUST(MPI_Ibsend(data, bytes, MPI_BYTE, to, tag, comm, &request));
      break;
  }
  return request;
}

static void check_received(const MPI_Status& status, const std::vector<unsigned char>& buffer,
                           int bytes, uint64_t seed, int from, int tag, const char* mode) {
  int count = -1, elements = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_Get_elements(&status, MPI_BYTE, &elements);
  CHECK(status.MPI_SOURCE == from, "%s: source %d, not %d", mode, status.MPI_SOURCE, from);
  CHECK(status.MPI_TAG == tag, "%s: tag %d, not %d", mode, status.MPI_TAG, tag);
  CHECK(count == bytes, "%s: count %d, not %d", mode, count, bytes);
  CHECK(elements == bytes, "%s: elements %d, not %d", mode, elements, bytes);
  long wrong = first_wrong(buffer.data(), bytes, seed);
  CHECK(wrong < 0, "%s: %d bytes from %d: byte %ld wrong", mode, bytes, from, wrong);
  long beyond = first_other_than(buffer.data() + bytes, buffer.size() - bytes, 0xEE);
  CHECK(beyond < 0, "%s: %d bytes: written %ld beyond the end", mode, bytes, beyond);
}

static uint64_t seed_of(int from, int to, int mode, int bytes) {
  return ((uint64_t(from) * 1000 + to) * 10 + mode) * 100000000ull + bytes;
}

static void exchange(int mode, int bytes, int offset, bool preposted) {
  const int to = (rank + offset) % size, from = (rank - offset + size) % size;
  const int tag = 10 + mode, token_tag = 5;
  std::vector<unsigned char> out(bytes), in(bytes + 64, 0xEE);
  fill(out.data(), bytes, seed_of(rank, to, mode, bytes));
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Status status;
  if (preposted)
    MUST(MPI_Irecv(in.data(), bytes + 32, MPI_BYTE, from, tag, MPI_COMM_WORLD, &receive));
  if (ready(mode)) {  // the receive is posted: say so
    MPI_Request token;
    MUST(MPI_Irecv(nullptr, 0, MPI_BYTE, to, token_tag, MPI_COMM_WORLD, &token));
    MUST(MPI_Send(nullptr, 0, MPI_BYTE, from, token_tag, MPI_COMM_WORLD));
    MUST(MPI_Wait(&token, MPI_STATUS_IGNORE));
  }
  // A buffer for each: neighbours that are late would let a common one fill up.
  const bool buffered = mode == BSEND || mode == IBSEND;
  std::vector<unsigned char> attached(buffered ? bytes + MPI_BSEND_OVERHEAD : 0);
  if (buffered) MUST(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  MPI_Request request = send(mode, out.data(), bytes, to, tag);
  if (preposted)
    MUST(MPI_Wait(&receive, &status));
  else
    MUST(MPI_Recv(in.data(), bytes + 32, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status));
  if (request != MPI_REQUEST_NULL) MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL, "a finished request is not null");
  if (buffered) {
    void* detached = nullptr;
    int detached_size = 0;
    MUST(MPI_Buffer_detach(&detached, &detached_size));
    CHECK(detached == attached.data() && detached_size == static_cast<int>(attached.size()));
  }
  check_received(status, in, bytes, seed_of(from, rank, mode, bytes), from, tag, mode_names[mode]);
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int limit = option("limit", 300000);
  for (int offset = 0; offset < size; ++offset)
    for (int mode = 0; mode < MODES; ++mode)
      for (int bytes : sizes_to(offset < 3 ? limit : 5000)) {
        exchange(mode, bytes, offset, true);
        // Without a posted receive only calls that return before the message is received.
        if (mode == BSEND || mode == ISEND || mode == ISSEND || mode == IBSEND)
          exchange(mode, bytes, offset, false);
      }
  // Blocking modes that may wait for the receiver: lower rank first.
  for (int mode : {SEND, SSEND})
    for (int bytes : sizes_to(limit)) {
      int peer = rank ^ 1;
      if (peer >= size) continue;
      std::vector<unsigned char> out(bytes), in(bytes + 64, 0xEE);
      fill(out.data(), bytes, seed_of(rank, peer, mode, bytes));
      MPI_Status status;
      if (rank < peer) send(mode, out.data(), bytes, peer, 77);
      MUST(MPI_Recv(in.data(), bytes + 32, MPI_BYTE, peer, 77, MPI_COMM_WORLD, &status));
      if (rank > peer) send(mode, out.data(), bytes, peer, 77);
      check_received(status, in, bytes, seed_of(peer, rank, mode, bytes), peer, 77,
                     mode_names[mode]);
    }
  return finish();
}
