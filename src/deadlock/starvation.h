// What a rank that waits for memory or credit knows of the others, to find that it does so for ever
// (deadlock.h).
#pragma once

#include <cstdint>
#include <map>

namespace meantime::wait {

/// How often each thread, by its number, has given its CPU away or lost it.
using Switches = std::map<int, std::uint64_t>;

struct Starvation {
  std::uint32_t count = 0;     ///< how often it began, or went on after something had moved
  std::uint64_t naps = 0;      ///< in a row, in which nobody else was awake
  std::uint64_t since_ns = 0;  ///< when the first of those was over
  std::uint64_t sum = 0;       ///< of the others' counts at the last of them
  std::uint64_t lacks_ns = 0;  ///< when it began to lack memory; 0: it does not, or has moved
  Switches threads;            ///< at the last look at them
};

}  // namespace meantime::wait
