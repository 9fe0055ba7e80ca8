/* What a rank of a job over several nodes holds, from before MPI_Init to after MPI_Finalize: a line
   for each rank, {"rank": 0, "init": [seconds, private KiB, sockets], ...}. It sends nothing of its
   own. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char line[4096];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

static int sockets(void) {
  int found = 0;
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    char to[64] = "";
    found += readlinkat(dirfd(folder), entry->d_name, to, sizeof to - 1) > 0 &&
             strncmp(to, "socket:", 7) == 0;
  }
  closedir(folder);
  return found;
}

static long kib(const char* name) {
  char text[256];
  long value = 0, sum = 0;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(text, sizeof text, file) != NULL)
    if (strncmp(text, name, strlen(name)) == 0 && sscanf(strchr(text, ':') + 1, "%ld", &value) == 1)
      sum += value;
  fclose(file);
  return sum;
}

static void note(const char* phase, double since) {
  const double seconds = now() - since;
  char* end = line + strlen(line);
  snprintf(end, (size_t)(line + sizeof line - end), ", \"%s\": [%.6f, %ld, %d]", phase, seconds,
           kib("Private_Dirty"), sockets());
}

int main(int argc, char** argv) {
  int rank, size;
  double since = now();
  note("before", since);
  since = now();
  MPI_Init(&argc, &argv);
  note("init", since);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  since = now();
  MPI_Barrier(MPI_COMM_WORLD);
  note("barrier", since);
  if (argc > 1) {
    char* all = calloc(2, (size_t)size * (size_t)atoi(argv[1]));
    since = now();
    MPI_Alltoall(all, atoi(argv[1]), MPI_CHAR, all + size * atoi(argv[1]), atoi(argv[1]), MPI_CHAR,
                 MPI_COMM_WORLD);
    note("alltoall", since);
    free(all);
  }
  since = now();
  MPI_Finalize();
  note("finalize", since);
  usleep(300000); /* nobody ends, and closes what others count, meanwhile */
  printf("{\"rank\": %d%s}\n", rank, line);
  return 0;
}
