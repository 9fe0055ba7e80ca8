// The library may move a rank to another CPU, but its affinity mask stays the user's: ranks that
// all begin on one CPU exchange messages, and are then where their masks allow.
#include <sched.h>

#include "check.h"

using namespace check;

namespace {

void put_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "cannot go to CPU %d", cpu);
}

void exchange(int times) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < times; ++i) {
    int in = -1;
    MUST(MPI_Sendrecv(&i, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    CHECK(in == i, "got %d in exchange %d", in, i);
  }
}

void check_mask(const cpu_set_t& expected) {
  cpu_set_t now;
  CHECK(sched_getaffinity(0, sizeof now, &now) == 0, "no affinity mask");
  CHECK(CPU_EQUAL(&now, &expected), "the affinity mask has changed: %d CPUs, were %d",
        CPU_COUNT(&now), CPU_COUNT(&expected));
  CHECK(CPU_ISSET(sched_getcpu(), &expected), "on CPU %d outside the mask", sched_getcpu());
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  cpu_set_t mask;
  CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0, "no affinity mask");
  int first = 0;
  while (!CPU_ISSET(first, &mask)) ++first;

  put_on(first);
  CHECK(sched_setaffinity(0, sizeof mask, &mask) == 0, "cannot take the mask back");
  exchange(5000);
  check_mask(mask);

  put_on(first);  // bound by the user: it stays
  cpu_set_t one = {};
  CPU_SET(first, &one);
  exchange(500);
  check_mask(one);
  return finish();
}
