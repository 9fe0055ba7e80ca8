#include "core/start/use.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/clock.h"
#include "core/comm/invitation.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "core/request/ending.h"
#include "core/request/point_to_point.h"
#include "core/start/guest_function.h"
#include "core/start/startup.h"
#include "deadlock/deadlock.h"
#include "ledger/accounts.h"
#include "match/engine.h"
#include "node/control_client.h"
#include "node/segment.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

/// A later user may get more than the first one has: but not while another thread may be in a call
/// that did not take the lock, which as far as is known only this one cannot be.
bool nobody_else_is_in_mpi(const Rank& rank) {
  return rank.thread_level <= MPI_THREAD_FUNNELED &&
         rank.main_thread == static_cast<std::uint64_t>(pthread_self());
}

void raise_thread_level(Rank& rank, int thread_level) {
  rank.thread_level = std::max(rank.thread_level, thread_level);
  if (rank.thread_level == MPI_THREAD_MULTIPLE) {
    rank.lock.enable();
  }
}

/// The last rank that moved leaves, and whether the others wait for ever cannot be told yet. They
/// look only when they fall asleep: one of them is woken to do so again, and goes on looking.
void leave_doubt_to_a_sleeper() {
  node::Segment& segment = node::segment();
  const auto ranks = static_cast<int>(segment.header().ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const node::RankArea& area = segment.area(rank);
    const bool suspended =
        area.worker.load() != 0 && area.mailbox.sleepers.load(std::memory_order_seq_cst) != 0;
    if (area.asleep.load(std::memory_order_seq_cst) != 0 || suspended) {
      wait::ring_rank(rank);
      return;
    }
  }
}

/// After it was counted out: if all others wait for what only it could have done, they are told.
void look_once_more() {
  switch (wait::look_for_deadlock(wait::Look::hasty)) {
    case wait::Verdict::running:
      break;
    case wait::Verdict::doubt:
    case wait::Verdict::quiet:
      leave_doubt_to_a_sleeper();
      break;
    case wait::Verdict::deadlock:
      wait::report_deadlock();
      break;
  }
}

void set_state(Rank& rank, node::RankState state) {
  rank.area->report.state.store(static_cast<std::uint32_t>(state), std::memory_order_seq_cst);
}

int go_away(Rank& rank) {
  const int result = rank.world_finalized ? delete_named_types_attributes() : MPI_SUCCESS;
  wait_for_quiet();
  if (rank.users != 0) {  // another thread has opened a session meanwhile
    return result;
  }
  if (rank.fiber == nullptr) {
    finish_guest_function();
  }
  rank.engine->leave();
  // The state first: whoever finds it in the sum finds it away (deadlock/deadlock.h).
  set_state(rank, node::RankState::away);
  node::segment().header().finalized.fetch_add(1, std::memory_order_seq_cst);
  look_once_more();
  ledger::end_account(*rank.area, rank.fiber == nullptr);
  if (rank.fiber == nullptr) {
    node::segment().trim();
  }
  if (rank.control != nullptr) {
    rank.control->finalized();
    // Not at the end of a session, which others need not end now.
    if (rank.world_finalized && std::getenv(launch::stay_variable) != nullptr) {
      rank.control->wait_to_leave();
    }
  }
  rank.phase.store(Phase::away);
  return result;
}

void come_back(Rank& rank) {
  if (rank.fiber == nullptr) {
    node::segment().untrim();
  }
  rank.engine->come_back();
  if (rank.control != nullptr) {
    rank.control->back();
  }
  set_state(rank, node::RankState::running);
  node::segment().header().finalized.fetch_sub(1, std::memory_order_seq_cst);
  ledger::go_on_with_account(*rank.area, rank.fiber == nullptr);
  rank.main_thread = static_cast<std::uint64_t>(pthread_self());
  rank.phase.store(Phase::active);
}

/// What others of other nodes have sent is read when all have said goodbye, or for so long: they
/// may have died, or be ranks whose sessions go on. Longer where one of them may want to read what
/// this rank has sent.
void part(match::Remote& remote) {
  constexpr std::uint64_t patience_ns = 1'000'000'000;
  constexpr std::uint64_t patience_with_unread_ns = 10 * patience_ns;
  remote.open();
  remote.say_goodbye();
  for (const std::uint64_t began = now_ns();
       !remote.all_said_goodbye() &&
       now_ns() - began < (remote.has_unread() ? patience_with_unread_ns : patience_ns);) {
    if (!progress() && !ranks::yield()) {
      sched_yield();
    }
  }
}

/// At exit: no session will be opened any more.
void leave_for_good() {
  Rank& rank = self();
  if (rank.phase.load() != Phase::away) {
    return;
  }
  rank.lock.lock();
  rank.phase.store(Phase::finalizing);
  if (rank.fiber == nullptr) {
    node::segment().untrim();
  }
  delete_named_types_attributes();
  set_state(rank, node::RankState::finalized);
  if (rank.engine != nullptr && rank.engine->remote != nullptr) {
    part(*rank.engine->remote);
    rank.engine->remote->close();
  }
  look_once_more();
  free_world(rank);
  rank.spare_requests.free_all();
  if (rank.fiber == nullptr) {
    node::segment().trim();
  }
  rank.phase.store(Phase::finalized);
  rank.lock.unlock();
}

/// In a child that the process rank has forked, which shares the segment and the line to mpiexec
/// with it: to the child MPI is over. Who has held the lock may not be there.
void leave_to_parent() {
  Rank& rank = self();
  rank.phase.store(Phase::forked);
  rank.world_initialized = true;
  rank.world_finalized = true;
  rank.control.reset();
  new (&rank.lock) RankLock;
}

}  // namespace

int begin_use(Rank& rank, int thread_level) {
  if (rank.fiber == nullptr && ranks::worker_count() > 0) {
    return fail(
        MPI_ERR_OTHER,
        "a thread that is no rank cannot start MPI (thread ranks have MPI_THREAD_FUNNELED)");
  }
  if (rank.fiber != nullptr) {
    // Another kernel thread of a thread rank is nobody that a worker could run
    // (docs/guide/thread-ranks.md).
    thread_level = std::min(thread_level, MPI_THREAD_FUNNELED);
  }
  switch (rank.phase.load()) {
    case Phase::before_init:
      rank.thread_level = thread_level;
      if (const int result = start_up(rank); result != MPI_SUCCESS) {
        return result;
      }
      std::atexit(leave_for_good);
      if (rank.fiber == nullptr) {
        pthread_atfork(nullptr, nullptr, leave_to_parent);
      }
      break;
    case Phase::active:
      if (thread_level > rank.thread_level && nobody_else_is_in_mpi(rank)) {
        raise_thread_level(rank, thread_level);
      }
      break;
    case Phase::away:
      come_back(rank);
      raise_thread_level(rank, thread_level);
      break;
    case Phase::finalizing:
    case Phase::finalized:
      return fail(MPI_ERR_OTHER, "this rank has left the job; MPI cannot be initialised again");
    case Phase::guest:
      return fail(MPI_ERR_OTHER, "guest work, which is in the middle of a wait, cannot start MPI");
    case Phase::forked:
      return fail(MPI_ERR_OTHER, "a child that a rank has forked is no rank: let it run a program");
  }
  ++rank.users;
  return MPI_SUCCESS;
}

void wait_for_other_nodes(Rank& rank) {
  match::Remote* const remote = rank.engine->remote;
  if (remote == nullptr) {
    return;
  }
  wait_for_quiet();
  remote->expect_ends();
  Communicator& all = *rank.all_ranks;
  Datatype& byte = *resolve(MPI_BYTE);
  char token = 0;
  char other = 0;
  for (int distance = 1; distance < all.size; distance *= 2) {
    const int to = (all.rank + distance) % all.size;
    const int from = (all.rank + all.size - distance) % all.size;
    send_receive(send_of(&token, 1, byte, to, last_tag, ContextOffset::collective),
                 receive_of(&other, 1, byte, from, last_tag, ContextOffset::collective), all,
                 MPI_STATUS_IGNORE);
  }
  // Nobody wants anything of this rank any more, an acknowledgement for instance, once it has said
  // so.
  if (rank.users > 1) {  // a session goes on; it says goodbye at the end of the process
    remote->come_back();
    return;
  }
  part(*remote);
}

int end_use(Rank& rank) {
  return --rank.users == 0 ? go_away(rank) : MPI_SUCCESS;
}

}  // namespace meantime::core
