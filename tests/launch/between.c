/* Prints how it waits. With an argument it says so itself before MPI_Init, as a script may; with
 * more, names and values, afterwards. */
#include <meantime.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  char text[32] = "";
  int length = sizeof text;
  if (argc == 2) setenv("MEANTIME_WAIT", argv[1], 1);
  MPI_Init(&argc, &argv);
  for (int i = 1; i + 1 < argc; i += 2) MPIX_Setting_set(argv[i], argv[i + 1]);
  MPIX_Setting_get("MEANTIME_WAIT", &length, text);
  printf("%s\n", text);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
