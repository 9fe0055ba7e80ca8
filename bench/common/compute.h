// Computation of a chosen length.
#pragma once

#include <mpi.h>

#include <algorithm>

namespace bench {

// Arithmetic that touches no memory, so that it takes as long beside copies as alone.
inline void compute(long rounds) {
  double x = 1;
  for (long i = 0; i < rounds; i++) {
    x = x * 1.0000001 + 1e-9;
    asm volatile("" : "+x"(x));
  }
}

// The quickest of many short tries on an otherwise idle core; everybody takes rank 0's.
inline double rounds_per_us() {
  double rate = 0;
  for (int i = 0; i < 50; i++) {
    const double start = MPI_Wtime();
    compute(20000);
    rate = std::max(rate, 20000 / ((MPI_Wtime() - start) * 1e6));
  }
  MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return rate;
}

}  // namespace bench
