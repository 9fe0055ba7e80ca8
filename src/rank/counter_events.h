// What can be counted (PAPERS.md V5), by the names of perf and PAPI, and how the kernel is asked.
//   usage    getrusage and the thread's CPU clock: faults, switches, task clock. The same numbers
//            as perf's, but no permission and no descriptor is needed, and one call has them all
//   perf     perf_event_open: everything else. Each kernel thread has a descriptor for each event
// Programs close descriptors that are not theirs and get the number for a file of their own, so
// each look asks first whether it is the event still.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace meantime::ranks {

struct CounterEvent {
  enum class Source : std::uint8_t { usage, perf };

  std::string_view name;      ///< perf's
  std::string_view preset;    ///< PAPI's, if it has one for the same quantity
  std::string_view variable;  ///< of the tools interface: "..._cycles"
  std::string_view description;
  Source source;
  std::uint32_t type = 0;  ///< perf_event_attr's
  std::uint64_t config = 0;
};

inline constexpr std::size_t counter_events_count = 17;
using Counts = std::array<std::uint64_t, counter_events_count>;
/// A bit for each event.
using CounterSet = std::uint32_t;

std::span<const CounterEvent, counter_events_count> counter_events();
/// -1: there is no such name.
int counter_event(std::string_view name);

// In the whole host: one more thread, or one less, counts the event.
void event_in_use(int event);
void event_out_of_use(int event);

/// The descriptors of one kernel thread, which alone opens and reads them.
class CounterFiles {
 public:
  CounterFiles() = default;
  ~CounterFiles() { close_all(); }
  CounterFiles(const CounterFiles&) = delete;
  CounterFiles& operator=(const CounterFiles&) = delete;
  /// 0, or errno of perf_event_open.
  int open(int event);
  void close(int event);
  /// Fills in those of `wanted`; returns those that could not be read.
  CounterSet read(CounterSet wanted, Counts& counts);
  void close_all() { close_all_of(open_); }
  /// Else it would keep one of the processor's few counters whenever this thread runs. Whoever
  /// begins to count meanwhile does it on another thread, or opens it again (read).
  void close_what_is_not_in_use() {
    if (open_ != 0) [[unlikely]] {
      close_all_of(open_ & ~events_in_use());
    }
  }

 private:
  struct File {
    int descriptor = -1;
    std::uint64_t id = 0;
  };
  bool is_still_there(const File& file) const;
  void close_all_of(CounterSet events);
  static CounterSet events_in_use();

  CounterSet open_ = 0;
  std::array<File, counter_events_count> files_;
};

/// What to tell who has asked for an event that the kernel refused with this errno.
std::string why_not_counted(int event, int error);

}  // namespace meantime::ranks
