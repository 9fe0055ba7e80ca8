// A rank: a member of MPI_COMM_WORLD, and all of its state that lives in its host.
//   host           the operating-system process; it carries one rank (a process rank) or many
//   segment area   the rank's part of the node's shared segment (src/node/layout.h)
// Nothing that belongs to a rank may be a global: it hangs off `self()`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "deadlock/starvation.h"
#include "policy/policy.h"
#include "policy/sampling.h"
#include "policy/spreading.h"
#include "policy/test_loop.h"
#include "policy/yielding.h"
#include "rank/lock.h"
#include "rank/spare_memory.h"
#include "sleep/sleepers.h"

namespace meantime {

struct Communicator;
struct Request;
namespace node {
class ControlClient;
struct RankArea;
}  // namespace node
namespace match {
struct Engine;
}
namespace core {
struct Buffered;
class PartitionedReceive;
struct Tables;
}  // namespace core
namespace coll {
struct Progress;
}
namespace wait {
class Advisor;
class Experience;
class Record;
}  // namespace wait
namespace ranks {
struct Fiber;
}

/// `away`: no use of MPI is open, but a session may be; `finalized`: the rank has left the job;
/// `forked`: this process is a child that the rank has forked, and no rank; `guest`: no rank, but
/// what a guest function finds in the place of one.
enum class Phase : std::uint8_t { before_init, active, away, finalizing, finalized, forked, guest };

/// Many thread ranks take turns on one core, and between two turns the others' data go through its
/// first-level cache: what every call looks at lies in the first line.
struct alignas(64) Rank {
  int world_rank = 0;
  int world_size = 1;
  ranks::Fiber* fiber = nullptr;   ///< of a thread rank; a process rank has none
  node::RankArea* area = nullptr;  ///< owned by the segment
  Communicator* world = nullptr;   ///< behind MPI_COMM_WORLD: from MPI_Init until MPI_Finalize
  /// Of the call that this rank's (last entering) thread is in: where it returns to in the user's
  /// program, and which one it is, an index of the generated table.
  std::atomic<const void*> call_site{nullptr};
  std::atomic<std::uint16_t> call{0};
  std::atomic<Phase> phase{Phase::before_init};
  std::atomic<bool> uses_clocks{false};  ///< a thread of it has asked for one (rank/clocks.h)
  std::uint32_t waits_to_sample = 1;     ///< until one is timed (wait/short_wait.h)
  RankLock lock;                         ///< taken by entry points under MPI_THREAD_MULTIPLE

  int workers = 1;  ///< CPUs that the job may use on this node (mask capped by the cgroup quota)
  int thread_level = 0;  ///< the highest that was provided
  bool world_initialized =
      false;  ///< MPI_Init was called; sessions bring the library up without it
  bool world_finalized = false;
  int users = 0;  ///< of the library: MPI_Init until MPI_Finalize, and each open session
  std::uint64_t main_thread = 0;  ///< who called MPI_Init (pthread_self)

  wait::Sleepers sleepers;
  wait::Yielding yielding[2] = {wait::Yielding::for_messages(1),
                                wait::Yielding::for_gates()};  ///< by wait::Kind
  wait::Spreading spreading;
  wait::TestLoops test_loops;
  wait::Sampling sampling;

  wait::Record* waiting = nullptr;  ///< the wait that began last, of any thread
  bool starving = false;  ///< something of it waits for memory or credit: it naps, and never sleeps
  std::uint64_t nap_ns = 10'000'000;  ///< for so long
  wait::Starvation starvation;
  std::uint32_t background = 0;  ///< non-blocking collectives under way
  bool unattended =
      false;  ///< of the background, that messages may ring nobody (coll/schedule/progress.h)
  std::vector<core::PartitionedReceive*> unmatched;  ///< started, but not yet met by their send
  std::uint32_t partitioned_channels = 0;  ///< tags of partitions given out: partitioned.h

  std::vector<Request*> abandoned;  ///< freed by the user before they were complete
  SpareMemory spare_requests;

  Communicator* alone = nullptr;  ///< behind MPI_COMM_SELF: from MPI_Init until MPI_Finalize
  // The same two for as long as the library is up: sessions alone need them, but have no name for
  // them (MPI 5.0, 11.3).
  Communicator* all_ranks = nullptr;
  Communicator* only_this = nullptr;

  /// Whether something of it moves on whenever it is in MPI, whatever it waits for.
  bool has_background() const { return background != 0 || !unmatched.empty(); }

  // Parts of the rank that this header need not know (shared_ptr only because it does not ask for
  // complete types); made in MPI_Init, gone in MPI_Finalize.
  std::shared_ptr<match::Engine> engine;
  std::shared_ptr<core::Tables> tables;  ///< predefined groups, error handlers, infos, user codes …
  std::shared_ptr<node::ControlClient> control;  ///< the line to mpiexec; none for a singleton
  std::shared_ptr<core::Buffered> buffered;
  std::shared_ptr<wait::Advisor> advisor;  ///< the energy framework's handler, if there is one
  bool advising = false;                   ///< it is being asked
  std::shared_ptr<wait::Experience> experience;  ///< what it has learned from its waits
  std::shared_ptr<coll::Progress> collectives;

  // Large, and not of the common path: last.
  wait::Policy policy;                   ///< how it waits, unless a communicator says otherwise …
  wait::PolicySettings policy_settings;  ///< … and what was said to make it so
};

namespace detail {
extern constinit bool host_counts_calls;
// Every thread begins as one of the process rank's. A thread rank has a thread control block of its
// own, so its copy of this is its own too, whichever worker runs it (docs/internals/rank.md).
extern constinit thread_local Rank* current_rank;
}  // namespace detail

/// Whether the ranks of this host count their calls (node::GuestWork::calls): somebody compares
/// what the job does in some times with what it does in others. Set in MPI_Init.
inline bool& counts_calls() {
  return detail::host_counts_calls;
}

/// The rank whose stack this is. Valid before MPI_Init too (phase says so). Any thread of a process
/// rank gets that process's rank.
inline Rank& self() {
  return *detail::current_rank;
}

}  // namespace meantime
