/* All wait for rank 1, which comes when the test lets it: it reads a line first, as often as there
 * are lines. The first argument ends it in another way instead, or makes rank 0 the one ("first").
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* end = argc > 1 ? argv[1] : "";
  const int reader = strcmp(end, "first") ? 1 : 0;
  int rank, more = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (more) {
    char line[16] = "";
    if (rank == reader) {
      more = fgets(line, sizeof line, stdin) != NULL;
      if (!strcmp(end, "abort") && !strcmp(line, "end\n")) MPI_Abort(MPI_COMM_WORLD, 5);
      if (!strcmp(end, "kill") && !strcmp(line, "end\n")) raise(SIGKILL);
    }
    MPI_Bcast(&more, 1, MPI_INT, reader, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (rank == 0) printf("done\n");
  return 0;
}
