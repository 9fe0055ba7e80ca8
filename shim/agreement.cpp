#include "shim/agreement.h"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/clock.h"
#include "shim/guests.h"
#include "shim/waiting.h"

namespace meantime::shim {
namespace {

/// Of messages on MPI_COMM_WORLD in MPI_Init, before the program can send any.
constexpr int tag = 32717;
/// How long a rank is waited for: all of them are in MPI_Init, or just through.
constexpr double patience_seconds = 10;
constexpr int no_keyval = -1;

Host comm_rank("PMPI_Comm_rank");
Host comm_size("PMPI_Comm_size");
Host comm_test_inter("PMPI_Comm_test_inter");
Host isend("PMPI_Isend");
Host irecv("PMPI_Irecv");
Host test("PMPI_Test");
Host iallreduce("PMPI_Iallreduce");
Host create_keyval("PMPI_Comm_create_keyval");
Host get_attr("PMPI_Comm_get_attr");
Host set_attr("PMPI_Comm_set_attr");
Host abort_job("PMPI_Abort");

/// Stands for the place in the program.
constexpr char least_site = 0;

bool is_over(Request& request, double until) {
  for (;;) {
    int done = 0;
    Status status;
    test(&request.value, &done, &status);
    if (done != 0 || now_seconds() > until) {
      return done != 0;
    }
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void missing(int rank) {
  std::fprintf(stderr,
               "meantime steal: rank %d has not loaded the shim (a static program, another library "
               "path, a clean environment?); all ranks must\n",
               rank);
  abort_job(constants()->comm_world, 1);
  __builtin_unreachable();
}

// A duplicate is a communicator of its own, whose ranks agree anew.
int not_copied(Handle, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return success;
}
int deleted(Handle, int, void*, void*) {
  return success;
}

/// By which communicators know.
int keyval() {
  static int own = [] {
    int made = no_keyval;
    create_keyval(reinterpret_cast<void*>(&not_copied), reinterpret_cast<void*>(&deleted), &made,
                  nullptr);
    return made;
  }();
  return own;
}

/// What the others give it least, of an intercommunicator those of the other group. 0: an error.
int least_of(int value, Handle communicator) {
  const Constants& host = *constants();
  Request request;
  int least = 0;
  return iallreduce(&value, &least, 1, host.type_int, host.op_min, communicator, &request.value) ==
                     success &&
                 wait_for(request, &least_site) == success
             ? least
             : 0;
}

int least_of_all(int value, Handle communicator) {
  int is_inter = 0;
  comm_test_inter(communicator, &is_inter);
  const int least = least_of(value, communicator);
  // That was the other group's. Told them, they tell us ours.
  return is_inter == 0 ? least : std::min(least, least_of(least, communicator));
}

}  // namespace

void look_for_all() {
  const Constants& host = *constants();
  int rank = 0;
  int size = 1;
  comm_rank(host.comm_world, &rank);
  comm_size(host.comm_world, &size);
  const double until = now_seconds() + patience_seconds;
  int here = 1;
  if (rank == 0) {
    std::vector<Request> requests(static_cast<std::size_t>(size));
    std::vector<int> said(static_cast<std::size_t>(size));
    for (int other = 1; other < size; ++other) {
      irecv(&said[other], 1, host.type_int, other, tag, host.comm_world, &requests[other].value);
    }
    for (int other = 1; other < size; ++other) {
      if (!is_over(requests[other], until)) {
        missing(other);
      }
    }
    for (int other = 1; other < size; ++other) {
      isend(&here, 1, host.type_int, other, tag, host.comm_world, &requests[other].value);
    }
    for (int other = 1; other < size; ++other) {
      is_over(requests[other], until + patience_seconds);
    }
    return;
  }
  Request sent;
  Request answer;
  int all = 0;
  isend(&here, 1, host.type_int, 0, tag, host.comm_world, &sent.value);
  irecv(&all, 1, host.type_int, 0, tag, host.comm_world, &answer.value);
  // Rank 0 may be waiting for another one, and says so then.
  if (!is_over(answer, until + patience_seconds)) {
    missing(0);
  }
  is_over(sent, until + patience_seconds);
}

bool is_ours(Handle communicator) {
  const Constants* const host = constants();
  if (host == nullptr || is(communicator, host->comm_null) || keyval() == no_keyval) {
    return false;
  }
  void* known = nullptr;
  int is_known = 0;
  if (get_attr(communicator, keyval(), &known, &is_known) != success) {
    return false;
  }
  if (is_known == 0) {
    known = reinterpret_cast<void*>(
        static_cast<std::intptr_t>(least_of_all(has_guests() ? 1 : 0, communicator)));
    set_attr(communicator, keyval(), known);
  }
  return known != nullptr;
}

}  // namespace meantime::shim
