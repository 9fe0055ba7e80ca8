/* Prints the bits of reductions whose result depends on the order in which they are joined: sums
 * and products of rounded numbers, and an operation that is neither associative nor commutative.
 * Lengths on both sides of each change of the way (one rank joins all; rounds; inputs that are
 * exposed). */
#include <complex.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state, hash;

static double next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return ((double)(state >> 11) / 9007199254740992.0 - 0.5) * (double)(1ull << state % 40);
}

static void take(const void* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ ((const unsigned char*)from)[i]) * 0x100000001b3ull;
}

static void halves(void* in, void* inout, int* length, MPI_Datatype* type) {
  double *left = in, *right = inout;
  (void)type;
  for (int i = 0; i < *length; i++) right[i] = left[i] / 3 - right[i];
}

struct kind {
  const char* name;
  MPI_Datatype type;
  MPI_Op op;
  size_t bytes; /* of an element, without padding: all of it has bits that mean something */
};

static void fill(const struct kind* kind, int rank, int length, void* to) {
  state = 88172645463325252ull + (uint64_t)rank * 7919;
  for (int i = 0; i < length; i++) {
    if (kind->type == MPI_FLOAT) {
      ((float*)to)[i] = (float)next();
    } else if (kind->type == MPI_DOUBLE) {
      /* Products and what shrinks stay in range. */
      ((double*)to)[i] = kind->op == MPI_PROD ? 1 + next() / (double)(1ull << 41) : next();
    } else if (kind->type == MPI_C_DOUBLE_COMPLEX) {
      ((double*)to)[2 * i] = 1 + next() / (double)(1ull << 41);
      ((double*)to)[2 * i + 1] = next() / (double)(1ull << 41);
    } else {
      next();
      ((int*)to)[2 * i] = (int)(state % 3); /* many ties: the lowest rank of them wins */
      ((int*)to)[2 * i + 1] = rank;
    }
  }
}

static void reductions(const struct kind* kind, int length, MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const size_t bytes = kind->bytes * (size_t)length;
  char *in = malloc(bytes), *out = calloc(1, bytes);
  int* parts = malloc(sizeof(int) * (size_t)size);
  fill(kind, rank, length, in);
  MPI_Allreduce(in, out, length, kind->type, kind->op, comm);
  take(out, bytes);
  memcpy(out, in, bytes);
  MPI_Allreduce(MPI_IN_PLACE, out, length, kind->type, kind->op, comm);
  take(out, bytes);
  MPI_Scan(in, out, length, kind->type, kind->op, comm);
  take(out, bytes);
  MPI_Exscan(in, out, length, kind->type, kind->op, comm);
  if (rank > 0) take(out, bytes);
  for (int root = 0; root<size; root += size> 1 ? size - 1 : 1) {
    MPI_Reduce(in, out, length, kind->type, kind->op, root, comm);
    if (rank == root) take(out, bytes);
  }
  MPI_Request request;
  MPI_Iallreduce(in, out, length, kind->type, kind->op, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  take(out, bytes);
  for (int i = 0; i < size; i++) parts[i] = length / size + (i < length % size);
  MPI_Reduce_scatter(in, out, parts, kind->type, kind->op, comm);
  take(out, kind->bytes * (size_t)parts[rank]);
  if (length >= size) {
    MPI_Reduce_scatter_block(in, out, length / size, kind->type, kind->op, comm);
    take(out, kind->bytes * (size_t)(length / size));
  }
  free(parts);
  free(in);
  free(out);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm backwards;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &backwards);
  MPI_Op mine;
  MPI_Op_create(halves, 0, &mine);
  const struct kind kinds[] = {
      {"float sum", MPI_FLOAT, MPI_SUM, sizeof(float)},
      {"double sum", MPI_DOUBLE, MPI_SUM, sizeof(double)},
      {"double product", MPI_DOUBLE, MPI_PROD, sizeof(double)},
      {"complex product", MPI_C_DOUBLE_COMPLEX, MPI_PROD, 2 * sizeof(double)},
      {"own", MPI_DOUBLE, mine, sizeof(double)},
      {"minloc", MPI_2INT, MPI_MINLOC, 2 * sizeof(int)}};
  static const int lengths[] = {1, 7, 1000, 9000, 30000, 140000};
  for (size_t which = 0; which < sizeof kinds / sizeof kinds[0]; which++) {
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
      hash = 14695981039346656037ull;
      reductions(&kinds[which], lengths[i], MPI_COMM_WORLD);
      reductions(&kinds[which], lengths[i], backwards);
      printf("%d %s %d %016llx\n", rank, kinds[which].name, lengths[i], (unsigned long long)hash);
    }
  }
  MPI_Op_free(&mine);
  MPI_Comm_free(&backwards);
  MPI_Finalize();
  return 0;
}
