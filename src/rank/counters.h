// Counters from both points of view (PAPERS.md V5), which go on and stand still with the clocks of
// clocks.h: a rank's counts while it runs between a start and a stop; a core's counts while any of
// its ranks does, each between its own start and stop.
//   for whom   the program (MPIX_Counter_*) and tools (MPI_T) do not see each other's starts
//   away       what a thread rank does off its worker, asleep in a system call, counts for nobody
//   handle     a tool's, which any thread of the rank may read or stop: it is about the thread that
//              started it. What others read and write of that one's Counters is atomic: they see
//              what it had counted when it was in the clocks last, and it sees there that a start
//              of its is over
//   in use     in the whole host, an event that some thread counts. Each carrier closes what is not
//              when it comes by (CounterFiles): nobody else may, who could know when it reads
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "rank/counter_events.h"

namespace meantime::ranks {

struct Clocks;

enum class CountedFor : std::uint8_t { program, tools };
inline constexpr std::size_t counted_for_count = 2;

using AtomicCounts = std::array<std::atomic<std::uint64_t>, counter_events_count>;

/// A worker's; its ranks add to it.
using CoreCounts = std::array<AtomicCounts, counted_for_count>;

/// A thread's, from its first start on.
struct Counters : std::enable_shared_from_this<Counters> {
  CounterSet active = 0;  ///< all of `started`
  CounterSet failed = 0;  ///< could not be started, or not be read somewhere
  std::array<CounterSet, counted_for_count> started{};
  /// Handles; one may be stopped by another thread, so `started` may say so for a while yet.
  std::array<std::atomic<std::uint32_t>, counter_events_count> tool_starts{};
  CounterSet since_is_valid = 0;
  Counts since{};
  std::array<AtomicCounts, counted_for_count> ran{};
  AtomicCounts cores_ran{};          ///< for tools: the core's counts, of one core after the other
  const CoreCounts* core = nullptr;  ///< where it was last …
  Counts core_since{};               ///< … and what of that is in `cores_ran`
  CounterFiles own_files;            ///< of a thread that no worker carries
  CoreCounts own_core{};             ///< of the same

  Counters() = default;
  ~Counters();
  void begin(const Clocks& clocks);
  void settle(const Clocks& clocks);
  void follow_core(const Clocks& clocks);
  void start(CountedFor whom, int event);
  void stop(CountedFor whom, int event, const Clocks& clocks);
};

struct CounterReading {
  std::uint64_t rank = 0;
  std::uint64_t core = 0;
};

// All by number (counter_event), and of the calling thread.
bool counter_is_started(int event);
/// 0, or errno of perf_event_open; the event is not started then.
int start_counter(int event);
void stop_counter(int event);
/// False: its last start has failed, or it could not be read on some of the threads that the rank
/// was on.
bool read_counter(int event, CounterReading& reading);

// For a tool's handle.
/// Of the calling thread; nullptr: as above.
std::shared_ptr<Counters> start_tool_counter(int event);
/// The same event, by any thread.
void stop_tool_counter(Counters& counters, int event);
CounterReading read_tool_counter(Counters& counters, int event);

}  // namespace meantime::ranks
