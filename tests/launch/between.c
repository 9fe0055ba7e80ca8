/* Prints how it waits. With an argument it says so itself before MPI_Init, as a script may; with
 * two, a name and a value, afterwards. */
#include <meantime.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  char text[32] = "";
  int length = sizeof text;
  if (argc == 2) setenv("MEANTIME_WAIT", argv[1], 1);
  MPI_Init(&argc, &argv);
  if (argc == 3) MPIX_Setting_set(argv[1], argv[2]);
  MPIX_Setting_get("MEANTIME_WAIT", &length, text);
  printf("%s\n", text);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
