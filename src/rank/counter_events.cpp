#include "rank/counter_events.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/clock.h"

namespace meantime::ranks {
namespace {

using Source = CounterEvent::Source;

/// Of PERF_TYPE_HW_CACHE: loads of this cache that missed.
constexpr std::uint64_t load_misses(std::uint64_t cache) {
  return cache | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
}

enum Usage : std::uint8_t { page_faults, minor_faults, major_faults, context_switches, task_clock };

constexpr std::array<CounterEvent, counter_events_count> events{{
    {"page-faults", "", "page_faults", "page faults", Source::usage, 0, page_faults},
    {"minor-faults", "", "minor_faults", "page faults without a disk", Source::usage, 0,
     minor_faults},
    {"major-faults", "", "major_faults", "page faults that read a disk", Source::usage, 0,
     major_faults},
    {"context-switches", "", "context_switches", "switches of the kernel thread", Source::usage, 0,
     context_switches},
    {"task-clock", "", "task_clock", "CPU time in ns", Source::usage, 0, task_clock},
    {"cpu-migrations", "", "cpu_migrations", "moves of the kernel thread to another CPU",
     Source::perf, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"cycles", "PAPI_TOT_CYC", "cycles", "cycles of the CPU", Source::perf, PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", "PAPI_TOT_INS", "instructions", "instructions that retired", Source::perf,
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"ref-cycles", "PAPI_REF_CYC", "ref_cycles", "cycles at the nominal frequency", Source::perf,
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"branches", "PAPI_BR_INS", "branches", "branches that retired", Source::perf,
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", "PAPI_BR_MSP", "branch_misses", "branches that were mispredicted",
     Source::perf, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache-references", "PAPI_L3_TCA", "cache_references", "accesses to the last-level cache",
     Source::perf, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", "PAPI_L3_TCM", "cache_misses", "misses of the last-level cache", Source::perf,
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"L1-dcache-load-misses", "PAPI_L1_LDM", "l1_dcache_load_misses",
     "loads that missed the first-level data cache", Source::perf, PERF_TYPE_HW_CACHE,
     load_misses(PERF_COUNT_HW_CACHE_L1D)},
    {"L1-icache-load-misses", "PAPI_L1_ICM", "l1_icache_load_misses",
     "misses of the first-level instruction cache", Source::perf, PERF_TYPE_HW_CACHE,
     load_misses(PERF_COUNT_HW_CACHE_L1I)},
    {"dTLB-load-misses", "", "dtlb_load_misses", "loads that missed the data TLB", Source::perf,
     PERF_TYPE_HW_CACHE, load_misses(PERF_COUNT_HW_CACHE_DTLB)},
    {"iTLB-load-misses", "PAPI_TLB_IM", "itlb_load_misses", "misses of the instruction TLB",
     Source::perf, PERF_TYPE_HW_CACHE, load_misses(PERF_COUNT_HW_CACHE_ITLB)},
}};

const CounterEvent& event_at(int event) {
  return events[static_cast<std::size_t>(event)];
}

/// The descriptor, or -1 with errno.
int open_event(const CounterEvent& event, bool with_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.exclude_hv = 1;
  attributes.exclude_kernel = with_kernel ? 0 : 1;
  // Always on the processor's counters or not at all: an event that shares them in turns has to be
  // scaled, and a scaled count of a short piece of program is a guess.
  attributes.pinned = event.type == PERF_TYPE_SOFTWARE ? 0 : 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
                                  static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC)));
}

std::array<std::atomic<std::uint32_t>, counter_events_count> users{};

std::uint64_t of_usage(const rusage& usage, std::uint64_t which) {
  switch (which) {
    case page_faults:
      return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
    case minor_faults:
      return static_cast<std::uint64_t>(usage.ru_minflt);
    case major_faults:
      return static_cast<std::uint64_t>(usage.ru_majflt);
    default:
      return static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
  }
}

}  // namespace

std::span<const CounterEvent, counter_events_count> counter_events() {
  return events;
}

int counter_event(std::string_view name) {
  for (std::size_t event = 0; event < events.size() && !name.empty(); ++event) {
    if (events[event].name == name || events[event].preset == name) {
      return static_cast<int>(event);
    }
  }
  return -1;
}

void event_in_use(int event) {
  users[static_cast<std::size_t>(event)].fetch_add(1, std::memory_order_relaxed);
}

void event_out_of_use(int event) {
  users[static_cast<std::size_t>(event)].fetch_sub(1, std::memory_order_relaxed);
}

CounterSet CounterFiles::events_in_use() {
  CounterSet used = 0;
  for (std::size_t event = 0; event < counter_events_count; ++event) {
    used |= CounterSet{users[event].load(std::memory_order_relaxed) != 0} << event;
  }
  return used;
}

void CounterFiles::close_all_of(CounterSet events) {
  for (; events != 0; events &= events - 1) {
    close(std::countr_zero(events));
  }
}

bool CounterFiles::is_still_there(const File& file) const {
  std::uint64_t id = 0;
  return file.descriptor >= 0 && ioctl(file.descriptor, PERF_EVENT_IOC_ID, &id) == 0 &&
         id == file.id;
}

int CounterFiles::open(int event) {
  const CounterEvent& asked = event_at(event);
  File& file = files_[static_cast<std::size_t>(event)];
  if (asked.source == Source::usage || is_still_there(file)) {
    return 0;
  }
  file.descriptor = open_event(asked, true);
  if (file.descriptor < 0 && (errno == EACCES || errno == EPERM) &&
      asked.type != PERF_TYPE_SOFTWARE) {
    // What happens in the kernel is not for everybody to see; the program's own part may be. (A
    // migration happens in the kernel: nothing would be left of it.)
    file.descriptor = open_event(asked, false);
  }
  if (file.descriptor < 0) {
    return errno;
  }
  ioctl(file.descriptor, PERF_EVENT_IOC_ID, &file.id);
  open_ |= CounterSet{1} << event;
  return 0;
}

void CounterFiles::close(int event) {
  File& file = files_[static_cast<std::size_t>(event)];
  if (is_still_there(file)) {
    // As it was opened: a host of thread ranks knows of it no more than of the program's own.
    syscall(SYS_close, file.descriptor);
  }
  file.descriptor = -1;
  open_ &= ~(CounterSet{1} << event);
}

CounterSet CounterFiles::read(CounterSet wanted, Counts& counts) {
  CounterSet failed = 0;
  rusage usage{};
  bool asked_usage = false;
  for (CounterSet left = wanted; left != 0; left &= left - 1) {
    const auto event = static_cast<std::size_t>(std::countr_zero(left));
    const CounterEvent& each = events[event];
    if (each.source == Source::usage) {
      if (each.config == task_clock) {
        counts[event] = thread_cpu_ns();
        continue;
      }
      if (!asked_usage) {
        getrusage(RUSAGE_THREAD, &usage);
        asked_usage = true;
      }
      counts[event] = of_usage(usage, each.config);
      continue;
    }
    // A thread rank may be here for the first time.
    if (open(static_cast<int>(event)) != 0 ||
        ::read(files_[event].descriptor, &counts[event], sizeof counts[event]) !=
            sizeof counts[event]) {
      failed |= CounterSet{1} << event;
    }
  }
  return failed;
}

std::string why_not_counted(int event, int error) {
  const std::string_view name = event_at(event).name;
  if (error == EACCES || error == EPERM) {
    return fmt::format(
        "the kernel does not let this process count '{}' (perf_event_open: {}): "
        "/proc/sys/kernel/perf_event_paranoid must be smaller, or the process needs CAP_PERFMON; "
        "in a container its seccomp profile must allow perf_event_open",
        name, std::strerror(error));
  }
  if (error == ENOSYS) {
    return fmt::format("this kernel has no perf_event_open, which '{}' needs", name);
  }
  return fmt::format(
      "this machine does not count '{}' (perf_event_open: {}); many virtual machines have no "
      "hardware counters",
      name, std::strerror(error));
}

}  // namespace meantime::ranks
