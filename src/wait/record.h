// What a rank's report says of a wait, and its account. A wait is recorded from the moment when it
// turns out not to be over at once, so short ones cost no clock. Several threads of a rank may wait
// at a time: the report is about the one that began last.
#pragma once

#include <cstdint>

#include "wait/policy.h"
#include "wait/wait.h"

namespace meantime {
struct Rank;
}

namespace meantime::wait {

/// On the waiting thread's stack. Rank's lock held when it is made and when it ends.
class Record {
 public:
  Record(Rank& rank, const Awaited& what);
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  std::uint64_t waited_ns() const;
  /// What this wait goes by: the communicator's policy, or else the rank's.
  const Policy& policy() const { return policy_; }

 private:
  void report() const;

  Rank& rank_;
  Situation situation_;
  Policy policy_;  ///< a copy: another thread may change the rank's or the communicator's
  std::uint64_t began_;
  Record* earlier_;  ///< of another thread of this rank, or of a call around this one
};

}  // namespace meantime::wait
