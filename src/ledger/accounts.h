// Opening accounts in the segment for a rank's call sites, and closing the rank's own at the end.
#pragma once

#include <cstdint>
#include <string>

#include "ledger/layout.h"

namespace meantime::ledger {

/// A new account of the rank in `area`; the same one for all sites beyond the limit, nullptr when
/// the node has no memory. The rank's lock is held.
SiteAccount* open_account(node::RankArea& area, const void* address, std::uint16_t call);

/// That of a place by its name, "solve (script.py:12)", which must have room, too; else the same.
SiteAccount* account_of_location(node::RankArea& area, const std::string& place,
                                 std::uint16_t call);

/// A sched_yield that takes longer found somebody to run.
inline constexpr std::uint64_t lone_yield_ns = 1'000;

/// Who polls looks at the clock every few microseconds. If so much lies between two looks, he did
/// not have the core: all of it is somebody else's.
inline constexpr std::uint64_t gone_ns = 50'000;

/// What one wait was.
struct Wait {
  std::uint64_t ns = 0;
  std::uint64_t spent_ns[activities] = {};
  std::uint64_t held_up_ns = 0;  ///< of the time awake: somebody else had the core
};
/// Charges it to its site and to the rank, so many times. The rank's lock is held. `site` may be
/// nullptr.
void charge(node::RankArea& area, SiteAccount* site, const Wait& wait, std::uint32_t times = 1);

/// The rank's life in MPI begins and ends: reads the clocks of the kernel. `of_process`: the rank
/// is a process, whose CPU time is its own. (Of a thread rank the ledger knows its worker's, and
/// what it needed beside it: ledger/prorate.h.)
void begin_account(node::RankArea& area, bool of_process);
void end_account(node::RankArea& area, bool of_process);
/// It had ended too early: the rank has come back.
void go_on_with_account(node::RankArea& area, bool of_process);

}  // namespace meantime::ledger
