// What a rank's report says of a wait, and its account. A wait is recorded from the moment when it
// turns out not to be over at once, so short ones cost no clock. Several threads of a rank may wait
// at a time: the report is about the one that began last.
#pragma once

#include <cstdint>

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

 private:
  void report() const;

  Rank& rank_;
  Situation situation_;
  std::uint64_t began_;
  Record* earlier_;  ///< of another thread of this rank, or of a call around this one
};

}  // namespace meantime::wait
