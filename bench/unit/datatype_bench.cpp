// Packing by the datatype engine beside the loop that one would write by hand: a matrix column, a
// plane and a part of a 3-D grid, an array of records, a list of indices. The counter `bytes` is
// the packed bytes per second; the pairs should be close.
#include <benchmark/benchmark.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "core/datatype/construction.h"
#include "core/datatype/datatype.h"

namespace {

using namespace meantime;

struct Drop {
  Datatype* type = nullptr;
  ~Drop() { drop(type); }
  Datatype& ready() {
    commit(*type);
    return *type;
  }
};

void pack_with(benchmark::State& state, Datatype& type, const void* memory) {
  std::vector<char> packed(static_cast<std::size_t>(type.size));
  for (auto _ : state) {
    pack(memory, 1, type, 0, packed.data(), packed.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * type.size);
}

template <class Loop>
void pack_by_hand(benchmark::State& state, std::size_t elements, Loop loop) {
  std::vector<double> packed(elements);
  for (auto _ : state) {
    loop(packed.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(elements * 8));
}

void column_engine(benchmark::State& state) {
  const auto n = state.range(0);
  std::vector<double> matrix(static_cast<std::size_t>(n * n), 1.0);
  Drop type;
  make_vector(n, 1, n, *resolve(MPI_DOUBLE), Form::plain, &type.type);
  pack_with(state, type.ready(), matrix.data());
}
void column_by_hand(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> matrix(n * n, 1.0);
  pack_by_hand(state, n, [&](double* out) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = matrix[i * n];
    }
  });
}

/// The y-z plane of a grid whose x is contiguous, without its border: two strides of one element.
void face_engine(benchmark::State& state) {
  const MPI_Count n = state.range(0);
  std::vector<double> grid(static_cast<std::size_t>(n * n * n), 1.0);
  const MPI_Count sizes[] = {n, n, n};
  const MPI_Count part[] = {n - 2, n - 2, 1};
  const MPI_Count start[] = {1, 1, 1};
  Drop type;
  make_subarray(3, sizes, part, start, MPI_ORDER_C, *resolve(MPI_DOUBLE), Form::plain, &type.type);
  pack_with(state, type.ready(), grid.data());
}
void face_by_hand(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> grid(n * n * n, 1.0);
  pack_by_hand(state, (n - 2) * (n - 2), [&](double* out) {
    for (std::size_t i = 1; i < n - 1; ++i) {
      for (std::size_t j = 1; j < n - 1; ++j) {
        *out++ = grid[(i * n + j) * n + 1];
      }
    }
  });
}

/// A box inside the grid: rows of n-2 elements.
void box_engine(benchmark::State& state) {
  const MPI_Count n = state.range(0);
  std::vector<double> grid(static_cast<std::size_t>(n * n * n), 1.0);
  const MPI_Count sizes[] = {n, n, n};
  const MPI_Count part[] = {n - 2, n - 2, n - 2};
  const MPI_Count start[] = {1, 1, 1};
  Drop type;
  make_subarray(3, sizes, part, start, MPI_ORDER_C, *resolve(MPI_DOUBLE), Form::plain, &type.type);
  pack_with(state, type.ready(), grid.data());
}
void box_by_hand(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> grid(n * n * n, 1.0);
  pack_by_hand(state, (n - 2) * (n - 2) * (n - 2), [&](double* out) {
    for (std::size_t i = 1; i < n - 1; ++i) {
      for (std::size_t j = 1; j < n - 1; ++j) {
        std::memcpy(out, &grid[(i * n + j) * n + 1], (n - 2) * 8);
        out += n - 2;
      }
    }
  });
}

struct Particle {
  double position[3];
  double force[3];
  int kind;
  double velocity[3];
};
constexpr std::size_t particle_bytes = 3 * 8 + 4 + 3 * 8;

void records_engine(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<Particle> particles(n);
  const MPI_Count lengths[] = {3, 1, 3};
  const MPI_Count places[] = {offsetof(Particle, position), offsetof(Particle, kind),
                              offsetof(Particle, velocity)};
  Datatype* const types[] = {resolve(MPI_DOUBLE), resolve(MPI_INT), resolve(MPI_DOUBLE)};
  Drop record;
  Drop array;
  make_struct(3, lengths, places, types, Form::plain, &record.type);
  make_contiguous(state.range(0), *record.type, Form::plain, &array.type);
  pack_with(state, array.ready(), particles.data());
}
void records_by_hand(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<Particle> particles(n);
  std::vector<char> packed(n * particle_bytes);
  for (auto _ : state) {
    char* out = packed.data();
    for (const Particle& particle : particles) {
      std::memcpy(out, particle.position, 24);
      std::memcpy(out + 24, &particle.kind, 4);
      std::memcpy(out + 28, particle.velocity, 24);
      out += particle_bytes;
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(packed.size()));
}

std::vector<MPI_Count> scattered(std::size_t n) {
  std::vector<MPI_Count> places(n);
  for (std::size_t i = 0; i < n; ++i) {
    places[i] = static_cast<MPI_Count>(i * 4 + i * i % 3);
  }
  return places;
}

void indices_engine(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> memory(n * 4 + 4, 1.0);
  const std::vector<MPI_Count> places = scattered(n);
  Drop type;
  make_indexed_block(state.range(0), 1, places.data(), *resolve(MPI_DOUBLE), Form::plain,
                     &type.type);
  pack_with(state, type.ready(), memory.data());
}
void indices_by_hand(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> memory(n * 4 + 4, 1.0);
  const std::vector<MPI_Count> places = scattered(n);
  pack_by_hand(state, n, [&](double* out) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = memory[static_cast<std::size_t>(places[i])];
    }
  });
}

BENCHMARK(column_engine)->Arg(16)->Arg(1000);
BENCHMARK(column_by_hand)->Arg(16)->Arg(1000);
BENCHMARK(face_engine)->Arg(10)->Arg(100);
BENCHMARK(face_by_hand)->Arg(10)->Arg(100);
BENCHMARK(box_engine)->Arg(10)->Arg(100);
BENCHMARK(box_by_hand)->Arg(10)->Arg(100);
BENCHMARK(records_engine)->Arg(8)->Arg(10000);
BENCHMARK(records_by_hand)->Arg(8)->Arg(10000);
BENCHMARK(indices_engine)->Arg(16)->Arg(10000);
BENCHMARK(indices_by_hand)->Arg(16)->Arg(10000);

}  // namespace

BENCHMARK_MAIN();
