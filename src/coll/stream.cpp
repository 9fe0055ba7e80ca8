#include "coll/stream.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace meantime::coll {

void stream(void* to, const void* from, std::size_t bytes) {
#ifdef __SSE2__
  constexpr std::size_t line = 64;
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  // Whole lines only: a part of one would be written to memory by itself.
  const std::size_t head =
      std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(target) % line) % line);
  std::memcpy(target, source, head);
  std::size_t done = head;
  for (; done + line <= bytes; done += line) {
    __m128i part[4];
    for (int index = 0; index < 4; ++index) {
      part[index] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + done) + index);
    }
    for (int index = 0; index < 4; ++index) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + done) + index, part[index]);
    }
  }
  std::memcpy(target + done, source + done, bytes - done);
  _mm_sfence();  // such stores are not ordered by the release store that tells of them
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace meantime::coll
