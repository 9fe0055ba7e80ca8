// Energy handlers that throw: the wait goes on, its call is done, and then the exception comes out
// of it. Rank 0 is late until rank 1 has been asked.
#include <meantime.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace {

enum class Throws { in_enter, in_leave, never };

struct Handler {
  Throws when;
  int asked = 0;
  int left = 0;
};

int enter(const MPIX_Energy_info*, void* argument) {
  auto& handler = *static_cast<Handler*>(argument);
  if (handler.asked++ == 0 && handler.when == Throws::in_enter) {
    throw std::runtime_error("entered");
  }
  return MPIX_ENERGY_SLEEP;
}

int leave(const MPIX_Energy_info*, void* argument) {
  auto& handler = *static_cast<Handler*>(argument);
  if (handler.left++ == 0 && handler.when == Throws::in_leave) {
    throw std::runtime_error("left");
  }
  return 0;
}

int receive() {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}

/// Receives what rank 0 counts until the handler has been asked and has thrown, and says so.
bool holds(Throws when) {
  Handler handler{when};
  MPIX_Energy_handler_reg(enter, leave, &handler);
  int thrown = 0;
  int more = 1;
  bool in_order = true;
  for (int number = 1; more != 0; ++number) {
    int value = number;  // a call that throws has received all the same
    try {
      value = receive();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    in_order = in_order && value == number;
    more = handler.left < 2 ? 1 : 0;
    MPI_Send(&more, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
  }
  MPIX_Energy_handler_dereg();
  const int expected = when == Throws::never ? 0 : 1;
  if (thrown != expected || !in_order) {
    std::printf("throws %d: %d exceptions, %s\n", static_cast<int>(when), thrown,
                in_order ? "in order" : "not in order");
  }
  return thrown == expected && in_order;
}

void be_late() {
  int more = 1;
  for (int number = 1; more != 0; ++number) {
    usleep(2000);
    MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&more, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool fine = true;
  for (const Throws when : {Throws::in_enter, Throws::in_leave, Throws::never}) {
    if (rank == 1) {
      fine = holds(when) && fine;
    } else {
      be_late();
    }
  }
  if (rank == 1 && fine) {
    std::puts(" No Errors");
  }
  MPI_Finalize();
  return fine ? 0 : 1;
}
