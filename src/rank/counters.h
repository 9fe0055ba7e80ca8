// Counters from both points of view (PAPERS.md V5), which go on and stand still with the clocks of
// clocks.h: a rank's counts while it runs between a start and a stop; a core's counts while any of
// its ranks does, each between its own start and stop.
//   for whom   the program (MPIX_Counter_*) and tools (MPI_T) do not see each other's starts
//   away       what a thread rank does off its worker, asleep in a system call, counts for nobody
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "rank/counter_events.h"

namespace meantime::ranks {

struct Clocks;

enum class CountedFor : std::uint8_t { program, tools };
inline constexpr std::size_t counted_for_count = 2;

/// A worker's; its ranks add to it.
using CoreCounts =
    std::array<std::array<std::atomic<std::uint64_t>, counter_events_count>, counted_for_count>;

/// A thread's, from its first start on.
struct Counters {
  CounterSet active = 0;  ///< all of `started`
  CounterSet failed = 0;  ///< could not be read somewhere
  std::array<CounterSet, counted_for_count> started{};
  std::array<std::uint8_t, counter_events_count> tool_starts{};
  CounterSet since_is_valid = 0;
  Counts since{};
  std::array<Counts, counted_for_count> ran{};
  CounterFiles own_files;  ///< of a thread that no worker carries
  CoreCounts own_core{};   ///< of the same

  void begin(const Clocks& clocks);
  void settle(const Clocks& clocks);
};

struct CounterReading {
  std::uint64_t rank = 0;
  std::uint64_t core = 0;
};

// All by number (counter_event), and of the calling thread.
bool counter_is_started(int event);
/// 0, or errno of perf_event_open; the event is not started then.
int start_counter(CountedFor whom, int event);
void stop_counter(CountedFor whom, int event);
/// False: it could not be read on some of the threads that the rank was on.
bool read_counter(CountedFor whom, int event, CounterReading& reading);

}  // namespace meantime::ranks
