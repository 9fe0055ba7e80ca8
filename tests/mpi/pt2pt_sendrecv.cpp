// Sendrecv, Sendrecv_replace and their I-forms, the null process in every call, messages to self.
#include "check.h"

using namespace check;

static void check_null(const MPI_Status& status, const char* what) {
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0,
        "%s: source %d tag %d count %d", what, status.MPI_SOURCE, status.MPI_TAG, count);
}

static void null_process() {
  int value = 42;
  MPI_Status status;
  MPI_Request request;
  const int null = MPI_PROC_NULL;
  MUST(MPI_Send(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD));
  MUST(MPI_Ssend(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD));
  MUST(MPI_Rsend(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD));
  MUST(MPI_Recv(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &status));
  check_null(status, "Recv");
  MUST(MPI_Irecv(&value, 1, MPI_INT, null, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  MUST(MPI_Wait(&request, &status));
  check_null(status, "Irecv");
  for (auto call : {MPI_Isend, MPI_Issend, MPI_Irsend}) {
    MUST(call(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MUST(MPI_Recv_init(&value, 1, MPI_INT, null, 1, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 3; ++i) {
    MUST(MPI_Start(&request));
    MUST(MPI_Wait(&request, &status));
    int count = -1;  // MPICH 5.0.2 gives the empty status here, source MPI_ANY_SOURCE
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 0 && status.MPI_TAG == MPI_ANY_TAG);
  }
  MUST(MPI_Request_free(&request));
  MUST(MPI_Sendrecv(&value, 1, MPI_INT, null, 1, &value, 1, MPI_INT, null, 1, MPI_COMM_WORLD,
                    &status));
  check_null(status, "Sendrecv");
  CHECK(value == 42, "the null process wrote %d", value);
}

int main(int argc, char** argv) {
  start(argc, argv);
  null_process();
  for (int bytes : sizes_to(option("limit", 1048577))) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    std::vector<unsigned char> out(bytes), in(bytes + 16);
    MPI_Status status;
    // A ring in which all send before they receive.
    fill(out.data(), bytes, rank);
    MUST(MPI_Sendrecv(out.data(), bytes, MPI_BYTE, to, 1, in.data(), bytes + 16, MPI_BYTE, from, 1,
                      MPI_COMM_WORLD, &status));
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes && status.MPI_SOURCE == from, "Sendrecv %d: %d", bytes, count);
    CHECK(first_wrong(in.data(), bytes, from) < 0, "Sendrecv %d", bytes);
    // The same in place, all the way round: each gets its own again.
    for (int step = 0; step < size; ++step) {
      MUST(MPI_Sendrecv_replace(out.data(), bytes, MPI_BYTE, to, 2, from, 2, MPI_COMM_WORLD,
                                &status));
      const int origin = (rank - step - 1 + size) % size;
      CHECK(first_wrong(out.data(), bytes, origin) < 0, "Sendrecv_replace %d step %d", bytes, step);
    }
    // Ends of a chain have null neighbours.
    const int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
              left = rank ? rank - 1 : MPI_PROC_NULL;
    memset(in.data(), 0xEE, in.size());
    MUST(MPI_Sendrecv(out.data(), bytes, MPI_BYTE, right, 3, in.data(), bytes, MPI_BYTE, left, 3,
                      MPI_COMM_WORLD, &status));
    if (left == MPI_PROC_NULL) {
      check_null(status, "chain");
      CHECK(first_other_than(in.data(), in.size(), 0xEE) < 0);
    } else {
      CHECK(first_wrong(in.data(), bytes, left) < 0, "chain %d", bytes);
    }
    // Several outstanding, non-blocking.
    std::vector<std::vector<unsigned char>> many_in(4, std::vector<unsigned char>(bytes));
    MPI_Request requests[5];
    for (int i = 0; i < 4; ++i)
      MUST(MPI_Isendrecv(out.data(), bytes, MPI_BYTE, to, 10 + i, many_in[i].data(), bytes,
                         MPI_BYTE, from, 10 + i, MPI_COMM_WORLD, &requests[i]));
    std::vector<unsigned char> replaced(bytes);
    fill(replaced.data(), bytes, rank + 7);
    MUST(MPI_Isendrecv_replace(replaced.data(), bytes, MPI_BYTE, to, 20, from, 20, MPI_COMM_WORLD,
                               &requests[4]));
    MUST(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    for (auto& one : many_in)
      CHECK(first_wrong(one.data(), bytes, from) < 0, "Isendrecv %d", bytes);
    CHECK(first_wrong(replaced.data(), bytes, from + 7) < 0, "Isendrecv_replace %d", bytes);
    // To self, on MPI_COMM_SELF and on the world.
    MPI_Request request;
    MUST(MPI_Isend(out.data(), bytes, MPI_BYTE, 0, 4, MPI_COMM_SELF, &request));
    MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(first_wrong(in.data(), bytes, rank) < 0 && status.MPI_SOURCE == 0, "self %d", bytes);
    MUST(MPI_Irecv(in.data(), bytes, MPI_BYTE, rank, 5, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(out.data(), bytes, MPI_BYTE, rank, 5, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, &status));
    CHECK(first_wrong(in.data(), bytes, rank) < 0 && status.MPI_SOURCE == rank, "self %d", bytes);
  }
  return finish();
}
