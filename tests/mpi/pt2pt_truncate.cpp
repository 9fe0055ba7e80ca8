// A receive that is too short: MPI_ERR_TRUNCATE at that receive, nothing beyond its end is
// written, and the messages before and after are as if nothing had happened.
#include "check.h"

using namespace check;

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  const int sizes[] = {1, 8, 100, 4096, 5000, 65536, 100000, 1048576};
  std::vector<unsigned char> out(1048576), in(1048576 + 64);
  fill(out.data(), out.size(), rank);
  // how: 0 receive posted first, 1 message first, 2 blocking receive, 3 posted synchronous send
  for (int how = 0; how < 4; ++how)
    for (int bytes : sizes)
      for (int room : {0, bytes / 2, bytes - 1}) {
        MPI_Request sends[3], receives[3];
        MPI_Status statuses[3];
        unsigned char before[16] = {}, after[16] = {}, mark_out[2][16];
        fill(mark_out[0], 16, rank + 1);
        fill(mark_out[1], 16, rank + 2);
        memset(in.data(), 0xEE, room + 64);
        auto post = [&] {
          MUST(MPI_Irecv(before, 16, MPI_BYTE, from, 1, MPI_COMM_WORLD, &receives[0]));
          MUST(MPI_Irecv(in.data(), room, MPI_BYTE, from, 1, MPI_COMM_WORLD, &receives[1]));
          MUST(MPI_Irecv(after, 16, MPI_BYTE, from, 1, MPI_COMM_WORLD, &receives[2]));
        };
        auto send = [&] {
          MUST(MPI_Isend(mark_out[0], 16, MPI_BYTE, to, 1, MPI_COMM_WORLD, &sends[0]));
          if (how == 3)
            MUST(MPI_Issend(out.data(), bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD, &sends[1]));
          else
            MUST(MPI_Isend(out.data(), bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD, &sends[1]));
          MUST(MPI_Isend(mark_out[1], 16, MPI_BYTE, to, 1, MPI_COMM_WORLD, &sends[2]));
        };
        int error = MPI_SUCCESS;
        if (how == 0 || how == 3) {
          post();
          send();
        } else {
          send();
          if (how == 1) post();
        }
        if (how == 2) {
          MUST(MPI_Recv(before, 16, MPI_BYTE, from, 1, MPI_COMM_WORLD, &statuses[0]));
          error = MPI_Recv(in.data(), room, MPI_BYTE, from, 1, MPI_COMM_WORLD, &statuses[1]);
          MUST(MPI_Recv(after, 16, MPI_BYTE, from, 1, MPI_COMM_WORLD, &statuses[2]));
        } else if (room & 1) {
          error = MPI_Waitall(3, receives, statuses);
          CHECK(error_class(error) == MPI_ERR_IN_STATUS, "Waitall: class %d", error_class(error));
          for (int i : {0, 2}) {  // finished, or to be waited for again (MPI 5.0, 3.7.5)
            CHECK(statuses[i].MPI_ERROR == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_ERR_PENDING,
                  "request %d: error %d", i, statuses[i].MPI_ERROR);
            if (statuses[i].MPI_ERROR == MPI_ERR_PENDING)
              MUST(MPI_Wait(&receives[i], &statuses[i]));
          }
          error = statuses[1].MPI_ERROR;
        } else {
          MUST(MPI_Wait(&receives[0], &statuses[0]));
          error = MPI_Wait(&receives[1], &statuses[1]);
          MUST(MPI_Wait(&receives[2], &statuses[2]));
        }
        CHECK(error_class(error) == MPI_ERR_TRUNCATE, "how %d, %d bytes into %d: class %d", how,
              bytes, room, error_class(error));
        CHECK(statuses[1].MPI_SOURCE == from && statuses[1].MPI_TAG == 1);
        CHECK(first_other_than(in.data() + room, 64, 0xEE) < 0, "how %d: written beyond %d of %d",
              how, room, bytes);
        CHECK(first_wrong(before, 16, from + 1) < 0 && first_wrong(after, 16, from + 2) < 0);
        MUST(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
      }
  return finish();
}
