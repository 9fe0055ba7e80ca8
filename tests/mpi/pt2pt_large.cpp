// Large messages, to 64 MiB, both ways at once; odd alignments; receives posted early and late.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

using namespace check;

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

// Device memory is like that, too.
static void from_memory_that_no_other_process_reaches(int from, int to) {
  const size_t bytes = 1 << 20;
  const int descriptor = static_cast<int>(syscall(SYS_memfd_secret, 0));
  void* out = MAP_FAILED;
  if (descriptor >= 0 && ftruncate(descriptor, bytes) == 0)
    out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  std::vector<unsigned char> common(out == MAP_FAILED ? bytes : 0), in(bytes);
  if (out == MAP_FAILED) out = common.data();  // this kernel has none
  fill(static_cast<unsigned char*>(out), bytes, rank);
  MUST(MPI_Sendrecv(out, static_cast<int>(bytes), MPI_BYTE, to, 2, in.data(),
                    static_cast<int>(bytes), MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(first_wrong(in.data(), bytes, from) < 0, "a byte is wrong");
}

int main(int argc, char** argv) {
  start(argc, argv);
  const size_t limit = static_cast<size_t>(option("limit", size <= 4 ? 64l << 20 : 8l << 20));
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<unsigned char> out_space(limit + 64), in_space(limit + 192);
  for (size_t bytes :
       {size_t(300001), size_t(1) << 20, (size_t(4) << 20) + 3, size_t(16) << 20, limit})
    for (int shift : {0, 1, 8}) {
      if (bytes > limit || (bytes == limit && shift)) continue;
      unsigned char *out = out_space.data() + shift, *in = in_space.data() + 64 - shift;
      fill(out, bytes, rank + bytes);
      memset(in, 0xEE, bytes + 64);
      MPI_Request requests[2];
      MPI_Status status;
      if (shift != 1) {  // early
        MUST(MPI_Irecv(in, static_cast<int>(bytes) + 7, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                       &requests[0]));
        MUST(
            MPI_Isend(out, static_cast<int>(bytes), MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[1]));
      } else {
        MUST(
            MPI_Isend(out, static_cast<int>(bytes), MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[1]));
        sleep_ms(5);
        MUST(MPI_Irecv(in, static_cast<int>(bytes) + 7, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                       &requests[0]));
      }
      MUST(MPI_Wait(&requests[0], &status));
      MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      int count = -1;
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK(count == static_cast<int>(bytes), "%zu bytes: %d", bytes, count);
      long wrong = first_wrong(in, bytes, from + bytes);
      CHECK(wrong < 0, "%zu bytes, shift %d: byte %ld wrong", bytes, shift, wrong);
      CHECK(first_other_than(in + bytes, 64, 0xEE) < 0, "%zu bytes: written beyond", bytes);
    }
  if (!on_mpich()) from_memory_that_no_other_process_reaches(from, to);  // there: EFAULT, errno 14
  return finish();
}
