// What a rank has learned from its waits, by call site: how long it is worth to poll, when messages
// come; and how late its timers are, and whether it has its core for itself.
//   call site   where in the user's program the call returns to, and the call
// Private to the rank, its lock held. Sites stay where they are: a thread that sleeps keeps its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ledger/layout.h"
#include "policy/contention.h"
#include "policy/policy.h"
#include "policy/predictor.h"

namespace meantime {
struct Rank;
}

namespace meantime::wait {

struct Site {
  const void* address = nullptr;
  std::uint16_t call = 0;
  ledger::SiteAccount* account = nullptr;  ///< in the segment; none when that is full
  std::uint64_t patience_ns = 0;           ///< how long a wait here polls at present; see policy.h
  std::uint64_t last_wait_ns = 0;
  std::uint64_t last_busy_ns = 0;  ///< of that awake
  Predictor predictor;
  Ade ade;
};

class Experience {
 public:
  /// The site of the call that the rank is in.
  Site& here(Rank& rank);

  Lateness lateness;
  Contention contention;

 private:
  Site& find(Rank& rank, const void* address, std::uint16_t call);
  void grow();
  std::size_t place_of(const void* address, std::uint16_t call) const;

  Site* latest_ = nullptr;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Site>> table_;  ///< open addressing; its size is a power of two
};

/// What the policy makes of the site for a wait that begins now. `takes_turns`: of a thread rank,
/// which lets the others of its worker run before each of its own looks.
Plan plan_of(const Policy& policy, const Site& site, const Lateness& lateness, bool takes_turns);

/// After a wait that went by `plan`.
void learn(const Policy& policy, Site& site, const Plan& plan, const Outcome& outcome);

}  // namespace meantime::wait
