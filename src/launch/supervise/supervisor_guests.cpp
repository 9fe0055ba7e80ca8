// What the supervisor has to do with guests: when they run, and what ranks may know of them.
#include "launch/supervise/supervisor_parts.h"

namespace meantime::launch {

/// All ranks are in MPI, once; or they go on after a stop.
void Supervisor::look_at_waits() {
  if (!job_.guests && job_.guest_function.empty()) {
    return;
  }
  if (segment_.mapped() ||
      (starter_.segment_of(0) >= 0 && segment_.map(starter_.segment_of(0)) == 0)) {
    trials_.begin();
    freeze_.begin();
  }
}

void Supervisor::ignore_waits() {
  trials_.stop();
  freeze_.stop();
}

void Supervisor::hear_guests() {
  guests_.hear();
  if (segment_.mapped()) {
    const guest::SoFar& so_far = guests_.so_far();
    node::Header& header = segment_.header();
    header.guests_cpu_ns.store(so_far.cpu_ns, std::memory_order_relaxed);
    header.guests_units.store(so_far.units, std::memory_order_relaxed);
    header.guests_running.store(so_far.running, std::memory_order_relaxed);
  }
}

}  // namespace meantime::launch
