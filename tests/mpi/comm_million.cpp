// A million communicators, one after the other: contexts do not run out, and memory does not grow.
// --loops=N of MPI_Comm_dup and MPI_Comm_free, now and then with a message and a collective on it.
#include "check.h"

using namespace check;

// Kilobytes of memory that this process has in use.
static long resident() {
  long pages = 0, total = 0;
  if (FILE* file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
    fclose(file);
  }
  return pages * 4;
}

int main(int argc, char** argv) {
  start(argc, argv);
  const long loops = option("loops", 20000);
  long before = 0;
  for (long i = 0; i < loops; ++i) {
    MPI_Comm copy;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    if (i % 64 == 0) {
      const int to = (rank + 1) % size, from = (rank + size - 1) % size;
      long sent = i, got = -1, sum = -1, one = 1;
      MUST(MPI_Sendrecv(&sent, 1, MPI_LONG, to, 1, &got, 1, MPI_LONG, from, 1, copy,
                        MPI_STATUS_IGNORE));
      MUST(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, copy));
      CHECK(got == i && sum == size, "loop %ld: %ld, %ld", i, got, sum);
    }
    MUST(MPI_Comm_free(&copy));
    if (i == loops / 2) before = resident();
  }
  const long grown = resident() - before;
#ifdef __SANITIZE_ADDRESS__
  const bool keeps_what_is_freed = true;  // to tell of its use
#else
  const bool keeps_what_is_freed = false;
#endif
  CHECK(grown < 8192 || keeps_what_is_freed || on_mpich(), "%ld KiB more after the second half",
        grown);
  return finish();
}
