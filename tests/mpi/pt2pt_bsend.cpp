// Buffered sends: space is used, given back and checked; detach waits until all is delivered.
#include <malloc.h>

#include "check.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
// sanitizer/allocator_interface.h, which GCC does not install.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes(void);
#endif

using namespace check;

namespace {

std::size_t bytes_in_use() {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  // The C library's heap is not in use there; its first callers would set it up in a race.
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
#endif
}

/// What has been received long ago is not kept until somebody flushes.
void automatic(int to, int from) {
  constexpr int rounds = 200, bytes = 1 << 18, most_kept = 100 * bytes;
  std::vector<unsigned char> out(bytes, 1), in(bytes);
  MUST(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  std::size_t before = 0;
  for (int round = 0; round <= rounds; ++round) {
    MUST(MPI_Bsend(out.data(), bytes, MPI_BYTE, to, 7, MPI_COMM_WORLD));
    MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    // Nobody gets far behind: as threads all ranks have one heap.
    if (round % 4 == 0) MUST(MPI_Barrier(MPI_COMM_WORLD));
    const std::size_t used = bytes_in_use();
    if (round == 0) before = used;
    CHECK(on_mpich() || used < before + most_kept, "%zu bytes more in round %d", used - before,
          round);
  }
  void* detached;
  int detached_bytes;
  MUST(MPI_Buffer_detach(&detached, &detached_bytes));
  CHECK(detached == MPI_BUFFER_AUTOMATIC);
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  const int pieces = 10, bytes = 20000;
  int packed = 0;
  MUST(MPI_Pack_size(bytes, MPI_BYTE, MPI_COMM_WORLD, &packed));
  std::vector<unsigned char> buffer(pieces * (packed + MPI_BSEND_OVERHEAD)), out(bytes), in(bytes);
  for (int round = 0; round < 20; ++round) {
    MUST(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
    for (int i = 0; i < pieces; ++i) {  // all of the space, while nobody receives
      fill(out.data(), bytes, rank * 100 + i);
      MUST(MPI_Bsend(out.data(), bytes, MPI_BYTE, to, i, MPI_COMM_WORLD));
      memset(out.data(), 0, bytes);  // ours again at once
    }
    if (round % 2) {  // the neighbour's data are there already, or we wait for them in detach
      for (int i = pieces - 1; i >= 0; --i) {
        MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(first_wrong(in.data(), bytes, from * 100 + i) < 0, "round %d piece %d", round, i);
      }
    }
    std::vector<MPI_Request> receives(pieces);
    std::vector<std::vector<unsigned char>> later(pieces, std::vector<unsigned char>(bytes));
    if (round % 2 == 0)
      for (int i = 0; i < pieces; ++i)
        MUST(MPI_Irecv(later[i].data(), bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, &receives[i]));
    void* detached = nullptr;
    int detached_bytes = 0;
    MUST(MPI_Buffer_detach(&detached, &detached_bytes));
    CHECK(detached == buffer.data() && detached_bytes == static_cast<int>(buffer.size()));
    memset(buffer.data(), 0xAB, buffer.size());  // nothing may still be read from it
    if (round % 2 == 0) {
      MUST(MPI_Waitall(pieces, receives.data(), MPI_STATUSES_IGNORE));
      for (int i = 0; i < pieces; ++i)
        CHECK(first_wrong(later[i].data(), bytes, from * 100 + i) < 0, "round %d piece %d", round,
              i);
    }
  }
  // More than there is room for: an error, and MPI goes on.
  std::vector<unsigned char> small(1000 + MPI_BSEND_OVERHEAD);
  MUST(MPI_Buffer_attach(small.data(), static_cast<int>(small.size())));
  int error = MPI_Bsend(out.data(), bytes, MPI_BYTE, to, 50, MPI_COMM_WORLD);
  CHECK(error_class(error) == MPI_ERR_BUFFER, "class %d", error_class(error));
  MUST(MPI_Bsend(out.data(), 100, MPI_BYTE, to, 51, MPI_COMM_WORLD));
  MUST(MPI_Recv(in.data(), 100, MPI_BYTE, from, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  void* detached;
  int detached_bytes;
  MUST(MPI_Buffer_detach(&detached, &detached_bytes));
  automatic(to, from);
  return finish();
}
