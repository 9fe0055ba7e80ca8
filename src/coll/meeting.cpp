#include "coll/meeting.h"

#include <mpi.h>

#include <string>

#include "coll/gate_wait.h"
#include "core/comm/communicator.h"
#include "core/error/error.h"
#include "core/request/point_to_point.h"
#include "node/segment.h"
#include "sleep/doorbell.h"

namespace meantime::coll {
namespace {

constexpr std::uint64_t one_arrival = 1;
constexpr int hash_shift = 32;

std::uint64_t hash_of(std::uint64_t what) {
  return ((what * 0x9e3779b97f4a7c15u) >> 40) | 1;
}

const char* name_of(std::uint64_t what) {
  switch (static_cast<Code>(what & 0xff)) {
    case Code::barrier:
      return "a barrier";
    case Code::bcast:
      return "a broadcast";
    case Code::gather:
      return "a gather";
    case Code::scatter:
      return "a scatter";
    case Code::allgather:
      return "an allgather";
    case Code::alltoall:
      return "an alltoall";
    case Code::alltoall_table:
      return "an alltoallv or alltoallw";
    case Code::reduce:
    case Code::reduce_split:
      return "a reduce";
    case Code::allreduce:
    case Code::allreduce_split:
      return "an allreduce";
    case Code::reduce_scatter:
      return "a reduce-scatter";
    case Code::scan:
      return "a scan";
    case Code::exscan:
      return "an exscan";
    case Code::second_half:
      return "the second half of a collective";
  }
  return "something unknown";
}

int root_of(std::uint64_t what) {
  return static_cast<int>((what >> 8) & 0xffffff);
}

/// With its root, if such a collective has one.
std::string told(std::uint64_t what) {
  switch (static_cast<Code>(what & 0xff)) {
    case Code::bcast:
    case Code::gather:
    case Code::scatter:
    case Code::reduce:
    case Code::reduce_split:
      return fmt::format("{} (root {})", name_of(what), root_of(what));
    default:
      return name_of(what);
  }
}

}  // namespace

Meeting::Meeting(Communicator& comm, State& state, std::uint64_t what, bool deposits)
    : comm_(comm),
      state_(state),
      what_(what),
      epoch_(++state.epoch),
      stage_(state.area.stage(epoch_)) {
  if (epoch_ > window && state.known_left < epoch_ - window) {
    state.look_around();
    if (state.known_left < epoch_ - window) {
      GateWait(comm, state, epoch_ - window, Gate::all).wait();
      state.known_left = epoch_ - window;
    }
  }
  said(state.rank) = static_cast<std::uint32_t>(what);
  if (deposits) {
    mine().bulk = 0;
  }
}

char* Meeting::bulk(node::Link link) {
  return node::segment().at<char>(link);
}

char* Meeting::deposit(std::size_t bytes, int reader) {
  Slot& slot = mine();
  slot.bytes = bytes;
  if (bytes <= inline_bytes) {
    slot.bulk = 0;
    return slot.data;
  }
  has_bulk_ = true;
  slot.bulk = state_.place(comm_, bytes, reader);
  if (slot.bulk == 0) {
    slot.bulk = no_deposit;
    return nullptr;
  }
  return bulk(slot.bulk);
}

int Meeting::check_deposits() {
  for (int rank = 0; rank < state_.area.members(); ++rank) {
    if (failed(rank)) {
      return fail_for_shared_memory(fmt::format("what rank {} gives", rank));
    }
  }
  return MPI_SUCCESS;
}

bool Meeting::arrive() {
  const std::uint64_t hash = hash_of(what_);
  std::uint64_t arrival = hash << hash_shift | one_arrival;
  if (state_.gathered > 1) {
    // The last of this worker has read what the others added, so the addition below is theirs too.
    // (Looks at `earlier`: of a look at the sum GCC 12.2 makes twice `earlier`.)
    std::atomic<std::uint64_t>& here = stage_.gatherings[state_.worker].arrived;
    const std::uint64_t earlier = here.fetch_add(arrival, std::memory_order_acq_rel);
    if ((earlier & 0xffffffff) + one_arrival != static_cast<std::uint64_t>(state_.gathered)) {
      return false;
    }
    here.store(0, std::memory_order_relaxed);
    arrival += earlier;
  }
  const std::uint64_t before = stage_.arrived.fetch_add(arrival, std::memory_order_acq_rel);
  const auto members = static_cast<std::uint64_t>(state_.area.members());
  if ((before & 0xffffffff) + (arrival & 0xffffffff) != members) {
    return false;
  }
  // Nobody looks at the counter again before the gate is open (see the window).
  stage_.arrived.store(0, std::memory_order_relaxed);
  const auto expected = static_cast<std::uint32_t>(hash * members);
  if (static_cast<std::uint32_t>((before + arrival) >> hash_shift) != expected) [[unlikely]] {
    mismatch_ = mismatch();
  }
  return true;
}

int Meeting::mismatch() {
  for (int rank = 0; rank < state_.area.members(); ++rank) {
    if (said(rank) != static_cast<std::uint32_t>(what_)) {
      return MPI_ERR_OTHER;
    }
  }
  return MPI_ERR_TRUNCATE;
}

void Meeting::open_all(int error) {
  if (mismatch_ != 0) {
    error = mismatch_;
  }
  stage_.verdict.store(epoch_ << 8 | static_cast<std::uint64_t>(error), std::memory_order_relaxed);
  state_.known_left = epoch_;
  if (mismatch_ != 0) {
    open(Gate::root);  // whoever they take for the root
  }
  open(Gate::all);
}

void Meeting::open_root() {
  stage_.given.store(static_cast<std::uint32_t>(what_), std::memory_order_release);
  open(Gate::root);
}

void Meeting::open(Gate gate) {
  stage_.opened[static_cast<int>(gate)].store(epoch_, std::memory_order_seq_cst);
  ring_first(state_.area, stage_, epoch_, gate);
}

// Whose deposit this member was the last to read may sleep elsewhere, and not know. Either the load
// sees that somebody wants memory, or whoever wants it rings all after the store (match/memory.h):
// all look again.
void Meeting::leave() {
  std::atomic<std::uint64_t>& left = state_.area.member(state_.rank).left;
  if (left.load(std::memory_order_relaxed) < epoch_) {
    left.store(epoch_, std::memory_order_seq_cst);
  }
  if (node::segment().header().wanting.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
    for (int member = 0; member < comm_.size; ++member) {
      wait::ring_rank(comm_.group->world_rank(member));
    }
  }
}

int Meeting::pass(Gate gate) {
  const std::atomic<std::uint64_t>& opened = stage_.opened[static_cast<int>(gate)];
  const auto open = [&] { return opened.load(std::memory_order_seq_cst) >= epoch_; };
  if (!open()) [[unlikely]] {
    GateWait wait(comm_, state_, epoch_, gate);
    // Thread ranks: most gates open within a round.
    if (!state_.takes_turns || !wait::is_over_soon(wait)) {
      wait.wait();
    }
  }
  return verdict();
}

// Two who take themselves for the root both open the gate. `given` was written after what its
// writer gives, so whoever reads its own root's there may read all of it; an older epoch's is read
// only where the last member opens the gate, and then the verdict is there.
int Meeting::pass_root() {
  const int error = pass(Gate::root);
  if (error != MPI_SUCCESS || stage_.given.load(std::memory_order_acquire) ==
                                  static_cast<std::uint32_t>(what_)) [[likely]] {
    return error;
  }
  const int found = pass_all();
  return found != MPI_SUCCESS ? found : fail_different(root_of(what_));
}

int Meeting::pass_all() {
  const int error = pass(Gate::all);
  state_.known_left = epoch_;
  return error;
}

/// Which way one goes may be a matter of its size.
int Meeting::fail_different(int rank) const {
  const std::string mine = told(what_);
  const std::string other = told(said(rank));
  return mine == other
             ? fail(MPI_ERR_OTHER, "the ranks gave different sizes for {}", name_of(what_))
             : fail(MPI_ERR_OTHER, "this rank called {}, rank {} called {}", mine, rank, other);
}

int Meeting::verdict() const {
  // Behind the root's gate the verdict may not be there yet (then it is an older epoch's).
  const std::uint64_t verdict = stage_.verdict.load(std::memory_order_relaxed);
  if (verdict >> 8 != epoch_ || (verdict & 0xff) == 0) [[likely]] {
    return MPI_SUCCESS;
  }
  const int error = static_cast<int>(verdict & 0xff);
  if (error == MPI_ERR_TRUNCATE) {
    return fail(error, "the ranks gave different sizes for {}", name_of(what_));
  }
  if (error == MPI_ERR_NO_MEM) {  // found by another
    return fail_for_shared_memory(name_of(what_));
  }
  if (error == MPI_ERR_OTHER) {
    for (int rank = 0; rank < state_.area.members(); ++rank) {
      if (said(rank) != static_cast<std::uint32_t>(what_)) {
        return fail_different(rank);
      }
    }
  }
  return error;
}

int meet(Meeting& meeting) {
  go_on(meeting);
  return meeting.pass_all();
}

void go_on(Meeting& meeting) {
  if (meeting.arrive()) {
    meeting.open_all();
  }
}

}  // namespace meantime::coll
