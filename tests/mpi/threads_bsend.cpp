// MPI_THREAD_MULTIPLE: one thread waits in MPI_Buffer_flush while another fills the buffer, finds
// it full and makes room.
#include "check.h"

using namespace check;

int main(int argc, char** argv) {
  if (start(argc, argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
    CHECK(false, "MPI_THREAD_MULTIPLE is not provided");
    return finish();
  }
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  const int bytes = 20000, messages = 200;
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  std::vector<char> buffer(4 * (bytes + MPI_BSEND_OVERHEAD));
  MUST(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  std::atomic<bool> sent{false};
  std::thread sender([&] {
    std::vector<unsigned char> out(bytes);
    for (int m = 0; m < messages; ++m) {
      fill(out.data(), bytes, rank * 1000 + m);
      int error;
      while ((error = MPI_Bsend(out.data(), bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD)) !=
             MPI_SUCCESS) {
        CHECK(error_class(error) == MPI_ERR_BUFFER, "%s", error_text(error).c_str());
        std::this_thread::yield();
      }
    }
    sent = true;
  });
  std::thread flusher([&] {
    while (!sent) {
      MUST(MPI_Buffer_flush());
      std::this_thread::yield();
    }
  });
  std::vector<unsigned char> in(bytes);
  for (int m = 0; m < messages; ++m) {
    if (m % 16 == 0) sleep_ms(1);  // the flusher sleeps, and the buffer fills
    MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(first_wrong(in.data(), bytes, from * 1000 + m) < 0, "message %d", m);
  }
  sender.join();
  flusher.join();
  void* detached;
  int detached_bytes;
  MUST(MPI_Buffer_detach(&detached, &detached_bytes));
  return finish();
}
