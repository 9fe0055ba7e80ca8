// The turn of a rank's other threads, in the middle of a call of this one.
#pragma once

#include <cstdint>

#include "rank/lock.h"
#include "rank/rank.h"

namespace meantime::wait {

/// For the time of a scope the rank's lock is let go of. Afterwards the rank is in this thread's
/// call again, which is what its waits are charged to: another one may have made calls meanwhile.
class OthersTurn {
 public:
  explicit OthersTurn(Rank& rank)
      : rank_(rank),
        call_(rank.call.load(std::memory_order_relaxed)),
        site_(rank.call_site.load(std::memory_order_relaxed)),
        levels_(rank.lock.release_all()) {}
  ~OthersTurn() {
    if (levels_ != 0) {
      rank_.lock.reacquire(levels_);
      rank_.call.store(call_, std::memory_order_relaxed);
      rank_.call_site.store(site_, std::memory_order_relaxed);
    }
  }
  OthersTurn(const OthersTurn&) = delete;
  OthersTurn& operator=(const OthersTurn&) = delete;

 private:
  Rank& rank_;
  const std::uint16_t call_;
  const void* const site_;
  const int levels_;
};

}  // namespace meantime::wait
