// Short messages that nobody receives for a while. MPI lets their sends wait (MPI 5.0, 3.4), but
// programs count on room for many of them, and have it with every MPI that people use: all ranks
// send before any receives, blocking or not, and receive in another order than was sent.
#include <algorithm>

#include "check.h"

using namespace check;

static constexpr int tags = 5, last_tag = 9;
static int left, right;

static size_t bytes_of(int message) {
  constexpr size_t sizes[] = {4, 0, 40, 300, 16, 2000, 60, 17, 8000};
  return sizes[message % 9];
}

static uint64_t seed_of(int sender, int round, int message) {
  return (uint64_t(sender) * 100 + round) * 1000003 + message;
}

static void receive_one(int round, int message, int tag) {
  unsigned char in[8000];
  MPI_Status status;
  MUST(MPI_Recv(in, sizeof in, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status));
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == static_cast<int>(bytes_of(message)), "round %d: message %d has %d bytes", round,
        message, count);
  const long wrong =
      first_wrong(in, std::min<size_t>(count, bytes_of(message)), seed_of(left, round, message));
  CHECK(wrong < 0, "round %d: message %d: byte %ld wrong", round, message, wrong);
}

/// The one that was sent last first, then tag by tag, the highest first.
static void receive_all(int round, int many) {
  MUST(MPI_Recv(nullptr, 0, MPI_BYTE, left, last_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int tag = tags; tag-- > 0;)
    for (int message = tag; message < many; message += tags) receive_one(round, message, tag);
}

static void send_blocking(int round, int many) {
  for (int message = 0; message < many; ++message) {
    unsigned char out[8000];
    fill(out, bytes_of(message), seed_of(rank, round, message));
    MUST(MPI_Send(out, static_cast<int>(bytes_of(message)), MPI_BYTE, right, message % tags,
                  MPI_COMM_WORLD));
  }
  MUST(MPI_Send(nullptr, 0, MPI_BYTE, right, last_tag, MPI_COMM_WORLD));
}

/// What was sent is the user's again when the sends are over, received or not.
static void send_at_once(int round, int many) {
  std::vector<std::vector<unsigned char>> out(many);
  std::vector<MPI_Request> sends(many);
  for (int message = 0; message < many; ++message) {
    out[message].resize(bytes_of(message));
    fill(out[message].data(), bytes_of(message), seed_of(rank, round, message));
    MUST(MPI_Isend(out[message].data(), static_cast<int>(bytes_of(message)), MPI_BYTE, right,
                   message % tags, MPI_COMM_WORLD, &sends[message]));
  }
  MUST(MPI_Waitall(many, sends.data(), MPI_STATUSES_IGNORE));
  for (auto& bytes : out) std::fill(bytes.begin(), bytes.end(), 0xee);
  MUST(MPI_Send(nullptr, 0, MPI_BYTE, right, last_tag, MPI_COMM_WORLD));
}

/// Every second element of an array of ints.
static void send_with_gaps(int round, int many) {
  constexpr int most = 500;
  MPI_Datatype spread;
  MUST(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
  MUST(MPI_Type_commit(&spread));
  for (int message = 0; message < many; ++message) {
    int out[2 * most];
    for (int i = 0; i < most; ++i) out[2 * i] = message + i + round, out[2 * i + 1] = -1;
    MUST(MPI_Send(out, message % most, spread, right, 0, MPI_COMM_WORLD));
  }
  MUST(MPI_Send(nullptr, 0, MPI_BYTE, right, last_tag, MPI_COMM_WORLD));
  MUST(MPI_Recv(nullptr, 0, MPI_BYTE, left, last_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int message = 0; message < many; ++message) {
    int in[2 * most];
    std::fill(in, in + 2 * most, 7);
    MUST(MPI_Recv(in, most, spread, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    bool right_ones = true;
    for (int i = 0; i < most; ++i) {
      right_ones = right_ones && in[2 * i + 1] == 7 &&
                   in[2 * i] == (i < message % most ? message + i + round : 7);
    }
    CHECK(right_ones, "message %d", message);
  }
  MUST(MPI_Type_free(&spread));
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int many = static_cast<int>(option("messages", 4000));
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  for (int round = 0; round < 3; ++round) {
    send_blocking(round, many);
    receive_all(round, many);
    send_at_once(round, many);
    receive_all(round, many);
    send_with_gaps(round, many);
  }
  return finish();
}
