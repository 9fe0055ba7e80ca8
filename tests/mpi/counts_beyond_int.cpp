// More elements than an int can count, by the large forms: messages, collectives and displacements
// of some 2^31 bytes, and a message of more than 2^32. The buffers are address space: the same few
// MiB of a file, mapped again and again, so what is received must repeat itself, too.
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

using namespace check;

namespace {

constexpr MPI_Count piece = MPI_Count{1} << 22;
constexpr MPI_Count beyond = (MPI_Count{1} << 31) + 12345;
constexpr MPI_Count beyond_unsigned = 2 * beyond;

/// So many bytes, of which each `piece` is the same memory.
class Repeated {
 public:
  explicit Repeated(unsigned char value) : bytes_((beyond_unsigned / piece + 2) * piece) {
    const int file = memfd_create("counts_beyond_int", MFD_CLOEXEC);
    void* const all = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file < 0 || ftruncate(file, piece) != 0 || all == MAP_FAILED) {
      perror("counts_beyond_int");
      exit(77);
    }
    at_ = static_cast<unsigned char*>(all);
    for (MPI_Count offset = 0; offset < bytes_; offset += piece)
      if (mmap(at_ + offset, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
          MAP_FAILED) {
        perror("counts_beyond_int");
        exit(77);
      }
    close(file);
    set(value);
  }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;
  ~Repeated() { munmap(at_, bytes_); }

  unsigned char* at(MPI_Count offset = 0) { return at_ + offset; }
  void set(unsigned char value) { memset(at_, value, piece); }
  void check(unsigned char value, const char* what) const {
    const long wrong = first_other_than(at_, piece, value);
    CHECK(wrong < 0, "%s: byte %ld is %d, not %d", what, wrong, at_[wrong], value);
  }

 private:
  MPI_Count bytes_;
  unsigned char* at_;
};

void messages(Repeated& buffer) {
  MPI_Status status;
  MPI_Count count = -1;
  int small = -1;
  if (rank == 0) {
    buffer.set(1);
    MUST(MPI_Send_c(buffer.at(), beyond_unsigned, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    MPI_Request request;
    MUST(MPI_Isend_c(buffer.at(), beyond / 8, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  buffer.set(0);
  MUST(MPI_Probe(0, 0, MPI_COMM_WORLD, &status));
  MUST(MPI_Get_count_c(&status, MPI_BYTE, &count));
  CHECK(count == beyond_unsigned, "%lld", static_cast<long long>(count));
  MUST(MPI_Get_count(&status, MPI_BYTE, &small));
  CHECK(small == MPI_UNDEFINED, "%d", small);
  MUST(MPI_Recv_c(buffer.at(), beyond_unsigned + 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status));
  MUST(MPI_Get_elements_c(&status, MPI_BYTE, &count));
  CHECK(count == beyond_unsigned, "%lld", static_cast<long long>(count));
  buffer.check(1, "received");
  MPI_Datatype rows;
  MUST(MPI_Type_vector_c(beyond / 8 / 1000 + 1, 1000, 1000, MPI_DOUBLE, &rows));
  MUST(MPI_Type_commit(&rows));
  buffer.set(0);
  MUST(MPI_Recv_c(buffer.at(), 1, rows, 0, 1, MPI_COMM_WORLD, &status));
  MUST(MPI_Get_elements_c(&status, rows, &count));
  CHECK(count == beyond / 8, "%lld", static_cast<long long>(count));
  MUST(MPI_Get_elements(&status, rows, &small));
  CHECK(small == beyond / 8, "%d", small);
  buffer.check(1, "received by a datatype");
  MUST(MPI_Type_free(&rows));
}

void collectives(Repeated& buffer, Repeated& other) {
  buffer.set(rank == 1 ? 7 : 0);
  MUST(MPI_Bcast_c(buffer.at(), beyond, MPI_BYTE, 1, MPI_COMM_WORLD));
  buffer.check(7, "MPI_Bcast_c");
  // Repeated memory is what one reduction after the other has, so only one that does not change
  // what it has reduced gives the same everywhere.
  buffer.set(rank == 0 ? 5 : 2);
  other.set(0);
  MUST(MPI_Allreduce_c(buffer.at(), other.at(), beyond, MPI_UINT8_T, MPI_BOR, MPI_COMM_WORLD));
  other.check(7, "MPI_Allreduce_c");
  // A displacement beyond an int, and little data there.
  const MPI_Count counts[] = {3, 4};
  const MPI_Aint places[] = {0, beyond};
  other.set(0);
  const unsigned char own[] = {9, 9, 9, 9};
  MUST(MPI_Allgatherv_c(own, counts[rank], MPI_BYTE, other.at(), counts, places, MPI_BYTE,
                        MPI_COMM_WORLD));
  const MPI_Count second = beyond % piece;
  for (MPI_Count i = 0; i < piece; ++i) {
    const bool there = i < 3 || (i >= second && i < second + 4);
    if (other.at()[i] != (there ? 9 : 0)) {
      CHECK(false, "MPI_Allgatherv_c: byte %ld is %d", static_cast<long>(i), other.at()[i]);
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  if (size == 2) {
    Repeated buffer(0), other(0);
    messages(buffer);
    collectives(buffer, other);
  }
  return finish();
}
