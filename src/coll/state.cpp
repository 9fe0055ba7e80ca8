#include "coll/state.h"

#include <algorithm>
#include <memory>

#include "base/heuristics.h"
#include "coll/by_nodes/edges.h"
#include "coll/schedule/progress.h"
#include "core/comm/communicator.h"
#include "core/comm/context.h"
#include "core/comm/tag_ranges.h"
#include "core/request/segment_memory.h"
#include "match/engine.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "scheduling/worker.h"

namespace meantime::coll {

namespace {

/// How many members began on the same worker as `self`, a thread rank. (They may be moved while
/// others ask. Where they began is the same for all, and most of them are there still. Each of them
/// counts the same, because a host's ranks have their homes before the first of them runs; those of
/// other hosts may have none yet, or another one: they do not count here.)
int members_of_home(const Communicator& comm, const Rank& self) {
  const node::Link home = ranks::home_of(self);
  int members = 0;
  for (int member = 0; member < comm.size; ++member) {
    const node::RankArea& area = node::segment().area(comm.group->world_rank(member));
    members += area.home.load(std::memory_order_acquire) == home ? 1 : 0;
  }
  return members;
}

}  // namespace

State::State(Communicator& comm) : context_block(comm.context_block), rank(comm.rank) {
  if (comm.size > 1 && !comm.is_inter()) {
    if (const node::Link link = core::collective_area(comm); link != 0) {
      area = Area(node::segment().at<char>(link), comm.size);
      const Rank& self = meantime::self();
      const node::Header& header = node::segment().header();
      in_words = header.thread_hosts != 0;
      in_host = header.thread_hosts == 1;
      takes_turns = self.fiber != nullptr;
      worker = std::max(0, ranks::home_number(self));
      // A stage has so many Gatherings. (Of nodes that mpiexec plays, each has a few workers, whose
      // numbers go on from one node to the next.)
      const bool gathers = uses(Heuristic::gathering) && takes_turns && worker < core_groups &&
                           ranks::worker_count_of_job() <= core_groups;
      gathered = gathers ? members_of_home(comm, self) : 1;
    }
  }
}

State::~State() {
  if (const std::shared_ptr<Progress>& progress = self().collectives; progress != nullptr) {
    std::erase(progress->depositors, this);
  }
}

void State::take_all_back() {
  Progress& progress = progress_of(self());
  for (const InUse& used : in_use_) {
    self().engine->pool.release(used.place, used.bytes);
    progress.given_bytes -= used.bytes;
  }
  in_use_.clear();
}

namespace {

using Retired = std::vector<std::unique_ptr<State>>;

/// Lets go of what nobody reads any more.
void sweep(Retired& retired) {
  std::erase_if(retired, [](const std::unique_ptr<State>& state) {
    const bool unread = !state->has_given() || core::all_finished(state->context_block);
    if (unread) {
      state->take_all_back();
      core::leave_context(state->context_block);
    }
    return unread;
  });
}

/// Ranks that run ahead must leave memory for those who are behind, or nobody gets on.
std::size_t most_given_at_once() {
  constexpr std::uint64_t share = 8;  ///< of what may become of the segment, all ranks together
  constexpr std::uint64_t enough = std::uint64_t{32} << 20;
  const node::Segment& segment = node::segment();
  return std::min(enough, segment.most_bytes() / share / segment.header().ranks);
}

}  // namespace

Progress::~Progress() {
  if (const auto& engine = self().engine; engine != nullptr && engine->memory.depositor == this) {
    engine->memory.depositor = nullptr;
  }
}

Progress::Progress() : most_given_bytes(most_given_at_once()) {}

// Whoever is behind comes to read what this rank gave before without its help: in their programs
// that is earlier, too. Between several threads there is no such order.
bool Progress::may_give(std::size_t bytes) {
  const auto fits = [&] {
    return given_bytes == 0 || given_bytes + bytes <= most_given_bytes || self().lock.enabled();
  };
  if (!fits()) {
    self().engine->memory.reclaim();
  }
  return fits();
}

void Progress::has_deposits(State& state) {
  self().engine->memory.depositor = this;
  if (std::find(depositors.begin(), depositors.end(), &state) == depositors.end()) {
    depositors.push_back(&state);
  }
}

void Progress::take_back() {
  for (State* const state : depositors) {
    state->take_back(true);
  }
  std::erase_if(depositors, [](const State* state) { return !state->has_given(); });
  sweep(retired);
}

namespace {

/// The communicator is gone. After MPI_Finalize the segment goes with the job.
void retire(State* gone) {
  std::unique_ptr<State> state(gone);
  if (state->context_block == 0 || self().engine == nullptr) {
    return;
  }
  core::finish_context(state->context_block);
  Retired& retired = progress_of(self()).retired;
  sweep(retired);
  if (state->has_given() && !core::all_finished(state->context_block)) {
    retired.push_back(std::move(state));
    return;
  }
  state->take_all_back();
  core::leave_context(state->context_block);
}

}  // namespace

void State::look_around() {
  for (std::uint64_t e = epoch; e > known_left && e + stage_count > epoch; --e) {
    if (area.stage(e).opened[static_cast<int>(Gate::all)].load(std::memory_order_acquire) == e) {
      known_left = e;
      return;
    }
  }
}

// Each member stores `left` when it has read (Meeting::leave), so who sees that may write there.
bool State::is_read(const InUse& used) const {
  const auto has_left = [&](int member) {
    return area.member(member).left.load(std::memory_order_seq_cst) >= used.epoch;
  };
  if (used.reader != all_members) {
    return has_left(used.reader);
  }
  for (int member = 0; member < area.members(); ++member) {
    if (!has_left(member)) {
      return false;
    }
  }
  return true;
}

void State::take_back(bool closely) {
  look_around();
  node::Pool& pool = self().engine->pool;
  Progress& progress = progress_of(self());
  std::size_t kept = 0;
  for (const InUse& used : in_use_) {
    if (used.epoch < known_left || (closely && is_read(used))) {
      pool.release(used.place, used.bytes);
      progress.given_bytes -= used.bytes;
    } else {
      in_use_[kept++] = used;
    }
  }
  in_use_.resize(kept);
}

node::Link State::place(const Communicator& comm, std::size_t bytes, int reader) {
  Progress& progress = progress_of(self());
  const node::Link place = core::needed_segment_memory(
      comm, bytes,
      [&] {
        take_back();
        return progress.may_give(bytes) ? self().engine->memory.find(bytes) : 0;
      },
      until);
  if (place != 0) {
    if (in_use_.empty()) {
      progress.has_deposits(*this);
    }
    in_use_.push_back({place, bytes, epoch, reader});
    progress.given_bytes += bytes;
  }
  return place;
}

void State::keep(node::Link place, std::uint64_t epoch) {
  for (InUse& used : in_use_) {
    if (used.place == place) {
      used.epoch = epoch;
    }
  }
}

int State::next_tag(int& series, int first) {
  constexpr int of_both = 2 * (1 + for_asides);
  const int tag = series + first;
  const int next = series + of_both;
  series = next + of_both <= core::making_tags ? next : 0;
  return tag;
}

State& state_of(Communicator& comm) {
  if (comm.collectives == nullptr) {
    comm.collectives = {new State(comm), retire};
  }
  return *comm.collectives;
}

}  // namespace meantime::coll
