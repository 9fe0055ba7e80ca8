#include "core/datatype/external32.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/datatype/construction.h"

namespace meantime {

namespace {

static_assert(std::endian::native == std::endian::little, "words are reversed here");

#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;  // aarch64: long double is binary128
#endif

/// How a basic element looks outside: `words` numbers of `bytes` each, most significant byte first.
struct Outside {
  int words;
  int bytes;
};

Outside outside(Basic basic) {
  switch (basic) {
    case Basic::wide_character:
      return {1, 2};
    case Basic::long_integer:
    case Basic::unsigned_long:
      return {1, 4};
    case Basic::long_double:
      return {1, 16};
    case Basic::complex_float16:
      return {2, 2};
    case Basic::complex_float32:
      return {2, 4};
    case Basic::complex_float64:
      return {2, 8};
    case Basic::complex_long_double:
    case Basic::complex_float128:
      return {2, 16};
    default:
      return {1, static_cast<int>(size_of(basic))};
  }
}

MPI_Count outside_bytes(Basic basic) {
  const Outside form = outside(basic);
  return MPI_Count{form.words} * form.bytes;
}

void reverse(const char* from, char* to, int bytes) {
  std::reverse_copy(from, from + bytes, to);
}

void write_word(Basic basic, const char* inside, char* out, int bytes) {
  if (basic == Basic::long_double || basic == Basic::complex_long_double) {
    long double value;
    std::memcpy(&value, inside, sizeof value);
    const Quad quad = value;
    reverse(reinterpret_cast<const char*>(&quad), out, bytes);
  } else {  // of a wide character and of a long the low half
    reverse(inside, out, bytes);
  }
}

void read_word(Basic basic, char* inside, const char* in, int bytes) {
  if (basic == Basic::long_double || basic == Basic::complex_long_double) {
    Quad quad;
    reverse(in, reinterpret_cast<char*>(&quad), bytes);
    const auto value = static_cast<long double>(quad);
    std::memset(inside, 0, sizeof value);  // x87's has six bytes of padding
#if __LDBL_MANT_DIG__ == 64
    std::memcpy(inside, &value, 10);
#else
    std::memcpy(inside, &value, sizeof value);
#endif
  } else if (basic == Basic::wide_character) {
    std::memset(inside, 0, sizeof(wchar_t));
    reverse(in, inside, bytes);
  } else if (basic == Basic::long_integer) {
    std::int32_t word;
    reverse(in, reinterpret_cast<char*>(&word), bytes);
    const long value = word;
    std::memcpy(inside, &value, sizeof value);
  } else if (basic == Basic::unsigned_long) {
    std::memset(inside, 0, sizeof(unsigned long));
    reverse(in, inside, bytes);
  } else {
    reverse(in, inside, bytes);
  }
}

/// Visits basic elements in the order of the type map: visit(basic, address, count in a row).
template <class Visit>
void walk(const Datatype& type, MPI_Count count, char* memory, Visit& visit) {
  if (type.size == 0 || count == 0) {
    return;
  }
  if (type.predefined && type.basic == Basic::pair) {
    const auto index = static_cast<MPI_Count>(size_of(type.pair_index));
    for (MPI_Count i = 0; i < count; ++i, memory += type.extent) {
      visit(type.pair_value, memory, 1);
      visit(type.pair_index, memory + type.true_extent - index, 1);
    }
    return;
  }
  if (type.predefined ||
      (type.contiguous && type.basic != Basic::mixed && type.basic != Basic::pair)) {
    visit(type.basic, memory + type.true_lb, count * type.element_count);
    return;
  }
  const Construction& construction = *type.construction;
  MPI_Count stride = 0;
  const bool strided = construction.strided(&stride);
  for (MPI_Count i = 0; i < count; ++i, memory += type.extent) {
    for (MPI_Count b = 0; b < construction.block_count; ++b) {
      const Block block = construction.block(strided ? 0 : b);
      walk(*block.type, block.length, memory + block.displacement + b * stride, visit);
    }
  }
}

/// Of one element; __int128 since a few elements may exceed what fits when the bytes inside do not.
__int128 size_outside(const Datatype& type) {
  if (type.predefined && type.basic == Basic::pair) {
    return outside_bytes(type.pair_value) + outside_bytes(type.pair_index);
  }
  if (type.basic != Basic::mixed && type.basic != Basic::pair) {
    return __int128{type.element_count} * outside_bytes(type.basic);
  }
  if (type.size == 0) {
    return 0;
  }
  const Construction& construction = *type.construction;
  MPI_Count stride = 0;
  if (construction.strided(&stride)) {
    const Block block = construction.block(0);
    return __int128{construction.block_count} * block.length * size_outside(*block.type);
  }
  __int128 bytes = 0;
  const Datatype* last = nullptr;
  __int128 last_bytes = 0;
  for (MPI_Count i = 0; i < construction.block_count; ++i) {
    const Block block = construction.block(i);
    if (block.type != last) {
      last = block.type;
      last_bytes = size_outside(*last);
    }
    bytes += block.length * last_bytes;
  }
  return bytes;
}

}  // namespace

MPI_Count external32_size(const Datatype& type, MPI_Count count) {
  const __int128 bytes = size_outside(type) * count;
  return bytes <= std::numeric_limits<MPI_Count>::max() ? static_cast<MPI_Count>(bytes) : -1;
}

void pack_external32(const void* buffer, MPI_Count count, const Datatype& type, void* out) {
  auto* to = static_cast<char*>(out);
  auto visit = [&](Basic basic, const char* memory, MPI_Count elements) {
    const Outside form = outside(basic);
    const MPI_Count words = elements * form.words;
    const auto inside = static_cast<MPI_Count>(size_of(basic)) / form.words;
    for (MPI_Count i = 0; i < words; ++i, memory += inside, to += form.bytes) {
      write_word(basic, memory, to, form.bytes);
    }
  };
  walk(type, count, static_cast<char*>(const_cast<void*>(buffer)), visit);
}

void unpack_external32(void* buffer, MPI_Count count, const Datatype& type, const void* in) {
  const auto* from = static_cast<const char*>(in);
  auto visit = [&](Basic basic, char* memory, MPI_Count elements) {
    const Outside form = outside(basic);
    const MPI_Count words = elements * form.words;
    const auto inside = static_cast<MPI_Count>(size_of(basic)) / form.words;
    for (MPI_Count i = 0; i < words; ++i, memory += inside, from += form.bytes) {
      read_word(basic, memory, from, form.bytes);
    }
  };
  walk(type, count, static_cast<char*>(buffer), visit);
}

}  // namespace meantime
