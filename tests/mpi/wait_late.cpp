// Messages that come late, all after the same time or each second one after three times of it, so
// that waits are predicted. None is lost or out of order, and how exact its timers are is as the
// program has asked for, in itself and in its children.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

using namespace check;

namespace {

constexpr int messages = 60;
constexpr int slack_ns = 61'000;

void send_late(int to, int longest) {
  for (int number = 0; number < messages; ++number) {
    std::this_thread::sleep_for(std::chrono::microseconds(number % 2 == 1 ? longest : 250));
    MUST(MPI_Send(&number, 1, MPI_INT, to, 1, MPI_COMM_WORLD));
  }
}

void receive(int from) {
  for (int number = 0; number < messages; ++number) {
    int in = -1;
    MUST(MPI_Recv(&in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == number, "got %d as number %d", in, number);
  }
}

int slack_of_a_child() {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    _exit(prctl(PR_GET_TIMERSLACK) == slack_ns ? 0 : 1);
  }
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  const int neighbour = rank ^ 1;
  if (neighbour < size) {
    prctl(PR_SET_TIMERSLACK, slack_ns);
    for (const int longest : {250, 750}) {
      if (rank % 2 == 0) {
        send_late(neighbour, longest);
      } else {
        receive(neighbour);
      }
    }
    CHECK(prctl(PR_GET_TIMERSLACK) == slack_ns, "it is %d", prctl(PR_GET_TIMERSLACK));
    CHECK(slack_of_a_child() == 0);
  }
  return finish();
}
