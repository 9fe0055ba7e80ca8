// Giving the core to whoever can use it, for one turn of a wait.
#pragma once

namespace meantime {
struct Rank;
}

namespace meantime::wait {

/// Another thread rank of this worker, or any thread. The rank's lock is let go of meanwhile.
void give_way(Rank& rank);
void give_way();
/// The policy has said that whoever wants this core may have it, be it another program. (No other
/// rank of the worker is there to run.)
void give_core_away(Rank& rank);

}  // namespace meantime::wait
