// The ledger of a job, read from its segment: plain numbers. Needs nothing of the ranks, which may
// be running, stuck or gone.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/changes.h"
#include "ledger/layout.h"

namespace meantime::node {
class Segment;
}

namespace meantime::ledger {

/// Numbers alone, whose bytes may be sent to another node's mpiexec (launch/report/node_report.h).
struct SiteNumbers {
  std::uint64_t offset = 0;
  std::uint16_t call = 0;
  std::uint64_t waits = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
  std::array<std::uint64_t, activities> spent_ns{};
  std::uint64_t predictions = 0;
  std::uint64_t late = 0;
  std::uint64_t vain = 0;
  std::uint64_t error_ns = 0;
  std::array<std::uint64_t, histogram_buckets> histogram{};
};

struct SiteFigures : SiteNumbers {
  std::string location;  ///< "solve (script.py:12)", as an interpreter has it; empty: it has none
  std::string file;      ///< empty: unknown, then offset is an address

  void add(const SiteFigures& other);
};

struct ChangeFigures {
  ChangedBy by{};
  std::string what;   ///< a setting, an info key, or a call
  std::string value;  ///< empty: a call has none
  auto operator<=>(const ChangeFigures&) const = default;
};

/// Of a guest function, in sleeps; their time is not in what holds of CPU time here.
struct GuestFigures {
  std::uint64_t slices = 0;
  std::uint64_t ns = 0;
  std::uint64_t longest_ns = 0;
  std::uint64_t too_long = 0;  ///< slices
  std::uint64_t units = 0;
  bool in_slice = false;  ///< at this moment, or when its process ended
};

/// A worker of a host of thread ranks.
struct WorkerFigures {
  int number = 0;      ///< in the node
  int host = 0;        ///< pid of its process
  bool ended = false;  ///< else what the kernel said is up to 100 ms old
  std::uint64_t wall_ns = 0;
  std::array<std::uint64_t, doings> spent_ns{};
  std::uint64_t held_up_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::optional<std::uint64_t> preempted_ns;  ///< if the kernel has told
  GuestFigures guest;

  std::uint64_t spent(Doing doing) const { return spent_ns[static_cast<std::size_t>(doing)]; }
  /// CPU time without anything to run.
  std::uint64_t idle_cpu_ns() const;
};

/// As SiteNumbers.
struct RankNumbers {
  bool in_mpi = false;  ///< it has called MPI_Init
  std::uint64_t wall_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t waits = 0;
  std::uint64_t parks = 0;
  std::uint64_t signalled_in_vain = 0;
  std::array<std::uint64_t, activities> spent_ns{};
  std::uint64_t held_up_ns = 0;
  std::uint64_t cpu_ns = 0;  ///< 0: not known (a process rank that has not finalized)
  std::optional<std::uint64_t> preempted_ns;  ///< if that is known, and the kernel has told
  int worker = -1;  ///< of a thread rank: index in Figures::workers of its last one …
  int home = -1;    ///< … and of its first
  std::uint64_t offloaded_ns = 0;  ///< of a thread rank: beside its worker …
  std::uint64_t offloaded_cpu_ns = 0;
  std::uint64_t helped_messages = 0;  ///< by its helper, while it computed …
  std::uint64_t helped_bytes = 0;
  std::uint64_t helper_cpu_ns = 0;     ///< … which needed so much
  std::uint64_t carried_messages = 0;  ///< by others of its process that looked, in its place
  std::uint64_t carried_bytes = 0;
  std::uint64_t carried_far = 0;  ///< of those messages, from another NUMA node
  std::uint64_t strangers = 0;    ///< messages to its process that were dropped
  GuestFigures guest;
  std::uint32_t changes_left_out = 0;
};

struct RankFigures : RankNumbers {
  std::vector<SiteFigures> sites;
  std::vector<ChangeFigures> changes;  ///< of how it waits, each once
};

struct Figures {
  std::vector<RankFigures> ranks;
  std::vector<WorkerFigures> workers;  ///< of thread ranks, by number
  std::string energy_handler;          ///< path of the library that advised the waits; empty: none
};

Figures read(const node::Segment& segment);

}  // namespace meantime::ledger
