// The ledger of a job, read from its segment: plain numbers. Needs nothing of the ranks, which may
// be running, stuck or gone.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "ledger/changes.h"
#include "ledger/layout.h"

namespace meantime::node {
class Segment;
}

namespace meantime::ledger {

struct SiteFigures {
  std::string file;  ///< empty: unknown, then offset is an address
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

  void add(const SiteFigures& other);
};

struct ChangeFigures {
  ChangedBy by{};
  std::string what;   ///< a setting, an info key, or a call
  std::string value;  ///< empty: a call has none
  auto operator<=>(const ChangeFigures&) const = default;
};

struct RankFigures {
  bool in_mpi = false;  ///< it has called MPI_Init
  std::uint64_t wall_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t waits = 0;
  std::uint64_t parks = 0;
  std::uint64_t rung_in_vain = 0;
  std::array<std::uint64_t, activities> spent_ns{};
  std::uint64_t held_up_ns = 0;
  std::uint64_t cpu_ns = 0;        ///< 0: not known (a thread rank, or it has not finalized)
  std::uint64_t preempted_ns = 0;  ///< the same
  std::vector<SiteFigures> sites;
  std::vector<ChangeFigures> changes;  ///< of how it waits, each once
  std::uint32_t changes_left_out = 0;
};

struct Figures {
  std::vector<RankFigures> ranks;
  std::string energy_handler;           ///< path of the library that advised the waits; empty: none
  std::uint64_t workers_polled_ns = 0;  ///< of thread ranks' workers with nothing to run
};

Figures read(const node::Segment& segment);

}  // namespace meantime::ledger
