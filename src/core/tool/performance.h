// Performance variables of the tools interface (MPI 5.0, 15.3.7): what Meantime counts of a rank
// anyway (node::Account, docs/internals/ledger.md).
//   counter, timer   count on for ever; a handle sees what was added while it was started
//   level            what is there now; always on, cannot be written
//   event            rank/counters.h: counted only while a handle is started, of the calling thread
// Handles belong to sessions, so tools do not disturb each other. All functions: rank's lock held.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/object/object.h"

namespace meantime {
struct Rank;
namespace ranks {
struct Counters;
}
}  // namespace meantime

namespace meantime::tool {

struct PerformanceVariable {
  std::string_view name;
  std::string_view description;
  int variable_class;  ///< MPI_T_PVAR_CLASS_...: COUNTER and LEVEL are numbers, TIMER is seconds
  double (*read)(const Rank& rank);
  int event = -1;  ///< in place of `read`: of rank/counter_events.h
  bool of_core = false;

  bool is_level() const { return variable_class == MPI_T_PVAR_CLASS_LEVEL; }
  MPI_Datatype type() const {
    return variable_class == MPI_T_PVAR_CLASS_TIMER ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG;
  }
};

/// Of the events those that the kernel counts for this process.
std::span<const PerformanceVariable> performance_variables();

/// A tool's view of one variable of this rank.
class PerformanceHandle : public Object {
 public:
  static constexpr Kind object_kind = Kind::tool_performance;
  explicit PerformanceHandle(const PerformanceVariable& of);
  ~PerformanceHandle();

  // MPI_T_ERR_PVAR_NO_STARTSTOP and MPI_T_ERR_PVAR_NO_WRITE of a level.
  int start();
  int stop();
  int reset();
  int write(const void* value);
  void read(void* value) const;

  const PerformanceVariable& variable;

 private:
  double now() const;
  double value() const;

  double added_ = 0;  ///< before the last start
  double began_ = 0;  ///< the variable's own value at the last start
  bool started_;
  std::shared_ptr<ranks::Counters> counted_;  ///< an event: of the thread that started it
};

/// What MPI_T_pvar_session_create gives; owns its handles.
struct PerformanceSession : Object {
  static constexpr Kind object_kind = Kind::tool_session;
  PerformanceSession() : Object(object_kind) {}
  ~PerformanceSession() = default;
  std::vector<std::unique_ptr<PerformanceHandle>> handles;
};

}  // namespace meantime::tool
