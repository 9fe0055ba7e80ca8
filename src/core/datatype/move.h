// The innermost loops of packing and unpacking: runs of bytes between typed memory and the packed
// stream, at strides, in lists, in arrays of records. Packing and unpacking are the same loop with
// source and target exchanged. For transfer.cpp only.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstring>

namespace meantime {

enum class Direction : bool { pack, unpack };

template <Direction direction>
void move(char* memory, char* packed, MPI_Count bytes) {
  if constexpr (direction == Direction::pack) {
    std::memcpy(packed, memory, static_cast<std::size_t>(bytes));
  } else {
    std::memcpy(memory, packed, static_cast<std::size_t>(bytes));
  }
}

/// A length known to the compiler makes memcpy one or two moves.
template <Direction direction, MPI_Count length>
void move_fixed(char* memory, char* packed) {
  if constexpr (direction == Direction::pack) {
    std::memcpy(packed, memory, length);
  } else {
    std::memcpy(memory, packed, length);
  }
}

/// An odd length, from `half` to twice that: two moves that overlap.
template <Direction direction, MPI_Count half>
void move_ends(char* memory, char* packed, MPI_Count bytes) {
  char first[half];
  char last[half];
  char* const from = direction == Direction::pack ? memory : packed;
  char* const to = direction == Direction::pack ? packed : memory;
  std::memcpy(first, from, half);
  std::memcpy(last, from + bytes - half, half);
  std::memcpy(to, first, half);
  std::memcpy(to + bytes - half, last, half);
}

/// For runs of mixed small lengths: no call.
template <Direction direction>
void move_short(char* memory, char* packed, MPI_Count bytes) {
  if (bytes == 8) {
    move_fixed<direction, 8>(memory, packed);
  } else if (bytes == 4) {
    move_fixed<direction, 4>(memory, packed);
  } else if (bytes > 64) {
    move<direction>(memory, packed, bytes);
  } else if (bytes > 32) {
    move_ends<direction, 32>(memory, packed, bytes);
  } else if (bytes >= 16) {
    move_ends<direction, 16>(memory, packed, bytes);
  } else if (bytes > 8) {
    move_ends<direction, 8>(memory, packed, bytes);
  } else if (bytes > 4) {
    move_ends<direction, 4>(memory, packed, bytes);
  } else if (bytes >= 2) {
    move_ends<direction, 2>(memory, packed, bytes);
  } else if (bytes == 1) {
    *(direction == Direction::pack ? packed : memory) =
        *(direction == Direction::pack ? memory : packed);
  }
}

/// Calls `kernel.operator()<length>()` for the lengths worth a loop of their own, <-half> for the
/// others up to twice 32, so that the loop has no branch on the length, and <0> beyond.
template <class Kernel>
void with_length(MPI_Count length, Kernel kernel) {
  switch (length) {
    case 1:
      return kernel.template operator()<1>();
    case 2:
      return kernel.template operator()<2>();
    case 4:
      return kernel.template operator()<4>();
    case 8:
      return kernel.template operator()<8>();
    case 12:
      return kernel.template operator()<12>();
    case 16:
      return kernel.template operator()<16>();
    case 20:
      return kernel.template operator()<20>();
    case 24:
      return kernel.template operator()<24>();
    case 28:
      return kernel.template operator()<28>();
    case 32:
      return kernel.template operator()<32>();
    case 40:
      return kernel.template operator()<40>();
    case 48:
      return kernel.template operator()<48>();
    case 56:
      return kernel.template operator()<56>();
    case 64:
      return kernel.template operator()<64>();
    default:
      return length > 64   ? kernel.template operator()<0>()
             : length > 32 ? kernel.template operator()<-32>()
             : length > 16 ? kernel.template operator()<-16>()
             : length > 8  ? kernel.template operator()<-8>()
             : length > 4  ? kernel.template operator()<-4>()
             : length > 2  ? kernel.template operator()<-2>()
                           : kernel.template operator()<0>();
  }
}

template <Direction direction, MPI_Count fixed>
void move_one(char* memory, char* packed, MPI_Count length) {
  if constexpr (fixed > 0) {
    move_fixed<direction, fixed>(memory, packed);
  } else if constexpr (fixed < 0) {
    move_ends<direction, -fixed>(memory, packed, length);
  } else {
    move_short<direction>(memory, packed, length);
  }
}

/// `outer` rows of `inner` runs of `length` bytes: a face of a grid, a matrix column, …
template <Direction direction>
void move_grid(char* memory, char* packed, MPI_Count outer, MPI_Count outer_stride, MPI_Count inner,
               MPI_Count inner_stride, MPI_Count length) {
  with_length(length, [=]<MPI_Count fixed>() {
    const MPI_Count bytes = fixed > 0 ? fixed : length;
    char* __restrict to = packed;
    for (MPI_Count row = 0; row < outer; ++row) {
      char* __restrict from = memory + row * outer_stride;
#pragma GCC unroll 8
      for (MPI_Count i = 0; i < inner; ++i) {
        move_one<direction, fixed>(from, to, bytes);
        from += inner_stride;
        to += bytes;
      }
    }
  });
}

/// `outer` times the runs of equal length that the list names.
template <Direction direction>
void move_blocks(char* memory, char* packed, MPI_Count outer, MPI_Count outer_stride,
                 const MPI_Count* displacements, MPI_Count count, MPI_Count length) {
  with_length(length, [=]<MPI_Count fixed>() {
    const MPI_Count bytes = fixed > 0 ? fixed : length;
    char* to = packed;
    for (MPI_Count row = 0; row < outer; ++row) {
      char* const from = memory + row * outer_stride;
      for (MPI_Count i = 0; i < count; ++i) {
        move_one<direction, fixed>(from + displacements[i], to, bytes);
        to += bytes;
      }
    }
  });
}

/// The same for runs of any lengths; starts[count] - starts[0] is the length of a row.
template <Direction direction>
void move_rows(char* memory, char* packed, MPI_Count rows, MPI_Count row_stride,
               const MPI_Count* displacements, const MPI_Count* starts, MPI_Count count) {
  for (MPI_Count row = 0; row < rows; ++row) {
    char* const from = memory + row * row_stride;
    for (MPI_Count i = 0; i < count; ++i) {
      const MPI_Count bytes = starts[i + 1] - starts[i];
      move_short<direction>(from + displacements[i], packed, bytes);
      packed += bytes;
    }
  }
}

/// An array of records: the same run of all rows at once, so that its length is known in the loop.
template <Direction direction>
void move_by_columns(char* memory, char* packed, MPI_Count rows, MPI_Count row_stride,
                     const MPI_Count* displacements, const MPI_Count* starts, MPI_Count count) {
  const MPI_Count row_bytes = starts[count] - starts[0];
  for (MPI_Count i = 0; i < count; ++i) {
    const MPI_Count length = starts[i + 1] - starts[i];
    with_length(length, [=]<MPI_Count fixed>() {
      char* __restrict from = memory + displacements[i];
      char* __restrict to = packed + starts[i] - starts[0];
#pragma GCC unroll 4
      for (MPI_Count row = 0; row < rows; ++row) {
        move_one<direction, fixed>(from, to, length);
        from += row_stride;
        to += row_bytes;
      }
    });
  }
}

template <Direction direction>
void move_runs(char* memory, char* packed, MPI_Count rows, MPI_Count row_stride,
               const MPI_Count* displacements, const MPI_Count* starts, MPI_Count count) {
  constexpr MPI_Count chunk = 8192;  // bytes that stay in the first-level cache between columns
  const MPI_Count row_bytes = starts[count] - starts[0];
  const MPI_Count rows_at_once = chunk / row_bytes;
  if (rows < 4 || rows_at_once < 4) {
    move_rows<direction>(memory, packed, rows, row_stride, displacements, starts, count);
    return;
  }
  for (MPI_Count row = 0; row < rows; row += rows_at_once) {
    move_by_columns<direction>(memory + row * row_stride, packed + row * row_bytes,
                               std::min(rows_at_once, rows - row), row_stride, displacements,
                               starts, count);
  }
}

}  // namespace meantime
