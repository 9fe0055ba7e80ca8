/* Prints the bits of reductions of numbers whose sum depends on the order. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static const int lengths[] = {1, 7, 1000, 30000};
  for (int which = 0; which < 4; which++) {
    const int length = lengths[which];
    double* in = malloc(sizeof(double) * length);
    double* out = malloc(sizeof(double) * length);
    uint64_t state = 88172645463325252ull + (uint64_t)rank * 7919;
    for (int i = 0; i < length; i++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      in[i] = ((double)(state >> 11) / 9007199254740992.0 - 0.5) * (double)(1ull << state % 40);
    }
    uint64_t hash = 0;
    MPI_Allreduce(in, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < length; i++) {
      uint64_t bits;
      memcpy(&bits, &out[i], 8);
      hash = (hash ^ bits) * 0x100000001b3ull;
    }
    MPI_Scan(in, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < length; i++) {
      uint64_t bits;
      memcpy(&bits, &out[i], 8);
      hash = (hash ^ bits) * 0x100000001b3ull;
    }
    MPI_Reduce(in, out, length, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
    for (int i = 0; rank == size - 1 && i < length; i++) {
      uint64_t bits;
      memcpy(&bits, &out[i], 8);
      hash = (hash ^ bits) * 0x100000001b3ull;
    }
    printf("%d %d %016llx\n", rank, length, (unsigned long long)hash);
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
