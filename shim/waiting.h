// Waiting for a request of the host MPI. There is no event that would wake us: who is not to poll
// has to sleep by a timer, and look then.
//   look       one Test
//   nap        a sleep that is a small part of how long the wait has lasted, so that what it adds
//              to a wait is a smaller part still
//   lateness   how long after its time a timer wakes this thread
// A wait looks for a while; sleeps until shortly before what has been expected here, looks until
// shortly after; then naps.
#pragma once

#include <cstdint>

#include "shim/host_mpi.h"

namespace meantime::shim {

/// Until it is over; what the last MPI_Test returned. `site`: where in the program the call is.
int wait_for(Request& request, const void* site);

/// Of this process.
struct Waited {
  std::uint64_t waits = 0;
  std::uint64_t ns = 0;
  std::uint64_t asleep_ns = 0;
};
Waited waited();

}  // namespace meantime::shim
