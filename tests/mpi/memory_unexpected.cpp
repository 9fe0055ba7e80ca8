// Bounded memory: many unexpected sends of 1 KiB from every rank to one sleeper, then received in
// order; the growth of the ranks' memory stays far below what was sent. And both sides Isend many
// before either receives.
#include "check.h"

using namespace check;

// Resident memory of this process and the job's shared memory as this process sees it, in KiB.
static long resident_kib() {
  long result = -1;
  if (FILE* file = fopen("/proc/self/status", "r")) {
    char line[256];
    while (fgets(line, sizeof line, file))
      if (sscanf(line, "VmRSS: %ld", &result) == 1) break;
    fclose(file);
  }
  return result;
}

int main(int argc, char** argv) {
  start(argc, argv);
  constexpr int bytes = 1024, window = 1000;
  const int messages = static_cast<int>(option("messages", 20000));
  const long bound_kib = option("bound-kib", 256 << 10);  // of growth, each process
  const long before = resident_kib();
  if (rank == 0) {
    sleep_ms(static_cast<int>(option("sleep-ms", 500)));
    std::vector<unsigned char> in(bytes);
    std::vector<int> next(size, 0);
    for (long m = 0; m < long(messages) * (size - 1); ++m) {
      MPI_Status status;
      MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
      int number;
      memcpy(&number, in.data(), 4);
      CHECK(number == next[status.MPI_SOURCE], "from %d: number %d, not %d", status.MPI_SOURCE,
            number, next[status.MPI_SOURCE]);
      CHECK(in[bytes - 1] == (number & 0xFF));
      next[status.MPI_SOURCE]++;
    }
  } else {
    // Blocking sends may wait for the receiver, so Isend with a window: what the program keeps.
    std::vector<unsigned char> out(size_t(window) * bytes);
    std::vector<MPI_Request> requests(window, MPI_REQUEST_NULL);
    for (int m = 0; m < messages; ++m) {
      const int slot = m % window;
      MUST(MPI_Wait(&requests[slot], MPI_STATUS_IGNORE));
      memcpy(&out[size_t(slot) * bytes], &m, 4);
      out[size_t(slot) * bytes + bytes - 1] = m & 0xFF;
      MUST(MPI_Isend(&out[size_t(slot) * bytes], bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                     &requests[slot]));
    }
    MUST(MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE));
  }
  const long grown = resident_kib() - before;
  if (!on_mpich())
    CHECK(grown < bound_kib, "%d messages of %d bytes from each: %ld KiB more", messages, bytes,
          grown);
  if (option("verbose", 0)) fprintf(stderr, "rank %d: %ld KiB more\n", rank, grown);

  // Both sides Isend first: Isend never blocks, whatever the credit.
  const int many = static_cast<int>(option("isends", 10000));
  const int peer = rank ^ 1;
  if (peer < size) {
    std::vector<int> out(many), in(many, -1);
    std::vector<MPI_Request> requests(many);
    for (int m = 0; m < many; ++m) {
      out[m] = rank * 1000000 + m;
      MUST(MPI_Isend(&out[m], 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[m]));
    }
    for (int m = 0; m < many; ++m)
      MUST(MPI_Recv(&in[m], 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE));
    for (int m = 0; m < many; ++m) CHECK(in[m] == peer * 1000000 + m, "message %d", m);
    // The same, waiting before receiving is not allowed; Irecvs last instead.
    std::vector<MPI_Request> receives(many);
    for (int m = 0; m < many; ++m)
      MUST(MPI_Isend(&out[m], 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[m]));
    for (int m = 0; m < many; ++m)
      MUST(MPI_Irecv(&in[m], 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &receives[m]));
    MUST(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE));
    MUST(MPI_Waitall(many, receives.data(), MPI_STATUSES_IGNORE));
    for (int m = 0; m < many; ++m) CHECK(in[m] == peer * 1000000 + m, "message %d", m);
  }
  return finish();
}
