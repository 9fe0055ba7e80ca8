#include "plan.h"

namespace fuzz {

void must(int code, const char* what, const char* file, int line) {
  if (code == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, text);
  MPI_Abort(MPI_COMM_WORLD, 3);
  abort();
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t start) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t hash = mix(start, bytes);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mix(hash, word);
  }
  std::uint64_t last = 0;
  std::memcpy(&last, at, bytes);
  return mix(hash, last);
}

long message_bytes(Random& random, long limit) {
  static constexpr long around[] = {16,    64,    128,   256,    1024,   4096,   8192,
                                    16384, 32768, 65536, 131072, 262144, 524288, 1048576};
  long bytes;
  const int way = random.below(100);
  if (way < 8) {
    bytes = 0;
  } else if (way < 55) {
    bytes = random.between(1, 300);
  } else if (way < 70) {
    bytes = random.between(300, 20000);
  } else {
    bytes = around[random.below(way < 90 ? 10 : 14)] + random.between(-20, 20);
  }
  return bytes < 0 ? 0 : bytes > limit ? limit : bytes;
}

}  // namespace fuzz
