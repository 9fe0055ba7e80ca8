// Conversions that are too long to stand in fortran.h, and the sentinels' own memory.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran.h"

#define SENTINEL __attribute__((visibility("default")))
SENTINEL MPI_Fint mpi_fortran_bottom_;
SENTINEL MPI_Fint mpi_fortran_in_place_;
SENTINEL MPI_Fint mpi_fortran_automatic_;
SENTINEL MPI_Fint mpi_fortran_unweighted_[1];
SENTINEL MPI_Fint mpi_fortran_weights_empty_[1];
SENTINEL MPI_Fint mpi_fortran_errcodes_ignore_[1];
SENTINEL MPI_Fint mpi_fortran_status_ignore_[MPI_F_STATUS_SIZE];
SENTINEL MPI_Fint mpi_fortran_statuses_ignore_[MPI_F_STATUS_SIZE];
SENTINEL char mpi_fortran_argv_null_[1];
SENTINEL char mpi_fortran_argvs_null_[1];

void* meantime_allocate(size_t bytes) {
  void* memory = malloc(bytes == 0 ? 1 : bytes);
  if (memory == NULL) {
    fprintf(stderr, "MPI's Fortran binding: no memory for %zu bytes\n", bytes);
    abort();
  }
  return memory;
}

// These ask whether they may before they do: an error handler must not hear of what the program did
// not call.
static int topology_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  if (comm != MPI_COMM_NULL && comm != 0) PMPI_Topo_test(comm, &topology);
  return topology;
}

int meantime_peers(MPI_Comm comm, enum meantime_peers which) {
  int peers = 0;
  if (comm == MPI_COMM_NULL || comm == 0) return 0;
  if (which == MEANTIME_ALL) {
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter) {
      PMPI_Comm_remote_size(comm, &peers);
    } else {
      PMPI_Comm_size(comm, &peers);
    }
    return peers;
  }
  int rank = 0;
  int sources = 0;
  int destinations = 0;
  int weighted = 0;
  switch (topology_of(comm)) {
    case MPI_CART:
      PMPI_Cartdim_get(comm, &peers);
      return 2 * peers;
    case MPI_GRAPH:
      PMPI_Comm_rank(comm, &rank);
      PMPI_Graph_neighbors_count(comm, rank, &peers);
      return peers;
    case MPI_DIST_GRAPH:
      PMPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted);
      return which == MEANTIME_SOURCES ? sources : destinations;
    default:
      return 0;
  }
}

int meantime_dimensions(MPI_Comm comm) {
  int dimensions = 0;
  if (topology_of(comm) == MPI_CART) PMPI_Cartdim_get(comm, &dimensions);
  return dimensions;
}

char* meantime_string(const char* text, size_t length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  char* string = meantime_allocate(length + 1);
  memcpy(string, text, length);
  string[length] = '\0';
  return string;
}

char* meantime_stripped(const char* text, size_t length) {
  while (length > 0 && *text == ' ') {
    ++text;
    --length;
  }
  return meantime_string(text, length);
}

void meantime_fill(char* text, size_t length, const char* string) {
  const size_t known = strlen(string);
  const size_t copied = known < length ? known : length;
  memcpy(text, string, copied);
  memset(text + copied, ' ', length - copied);
}

void meantime_tell_booleans(void) {
  MPI_Fint known_true = 0;
  MPI_Fint known_false = 0;
  int is_set = 0;
  if (PMPI_Abi_get_fortran_booleans(sizeof(MPI_Fint), &known_true, &known_false, &is_set) ==
          MPI_SUCCESS &&
      !is_set) {
    PMPI_Abi_set_fortran_booleans(sizeof(MPI_Fint), &meantime_fortran_true,
                                  &meantime_fortran_false);
  }
}

int meantime_complain(int error, const char* text) {
  fprintf(stderr, "MPI's Fortran binding: %s\n", text);
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, error);
  return error;
}
