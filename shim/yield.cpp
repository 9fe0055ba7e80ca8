// sched_yield, for MPIs that yield while they poll. Beside a guest a yield gives it up to a time
// slice, some milliseconds, whatever comes meanwhile: nobody wakes who is runnable. A short sleep
// lets whoever wants this core run as well, and ends when its timer does.
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/guests.h"

extern "C" [[gnu::visibility("default")]] int sched_yield() noexcept {
  if (!meantime::shim::has_guest_processes() || meantime::shim::ranks_share_cpus()) {
    return static_cast<int>(syscall(SYS_sched_yield));
  }
  [[maybe_unused]] static thread_local const int exact = prctl(PR_SET_TIMERSLACK, 1);
  // A timer that is due at once would end the sleep before it begins.
  constexpr timespec short_sleep{0, 5'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &short_sleep, nullptr);
  return 0;
}
