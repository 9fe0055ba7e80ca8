#include "coll/state.h"

#include <memory>

#include "core/communicator.h"
#include "core/plane.h"
#include "match/engine.h"
#include "node/segment.h"
#include "rank/rank.h"

namespace meantime::coll {

State::State(Communicator& comm) : rank(comm.rank) {
  if (comm.collective_area != 0 && comm.size > 1 && !comm.is_inter()) {
    area = Area(node::segment().at<char>(comm.collective_area), comm.size);
  }
}

State::~State() {
  if (in_use_.empty() || self().engine == nullptr) {
    return;
  }
  take_back();
  // Slower members may still read: the last one of them gets the rest together with the area.
  int next = 0;
  for (const InUse& used : in_use_) {
    auto& left = area.member(rank).left_behind[next++];
    left.place = used.place;
    left.bytes = used.bytes;
  }
}

void State::look_around() {
  for (std::uint64_t e = epoch; e > known_left && e + stage_count > epoch; --e) {
    if (area.stage(e).opened[static_cast<int>(Gate::all)].load(std::memory_order_acquire) == e) {
      known_left = e;
      return;
    }
  }
}

void State::take_back() {
  look_around();
  node::Pool& pool = self().engine->pool;
  std::size_t kept = 0;
  for (const InUse& used : in_use_) {
    if (used.epoch < known_left) {
      pool.release(used.place, used.bytes);
    } else {
      in_use_[kept++] = used;
    }
  }
  in_use_.resize(kept);
}

node::Link State::place(std::size_t bytes) {
  take_back();
  const node::Link place = self().engine->pool.allocate(bytes);
  if (place != 0) {
    in_use_.push_back({place, bytes, epoch});
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

int State::next_tag() {
  const int tag = tags_;
  tags_ = tags_ + 1 < core::making_tags ? tags_ + 1 : 0;
  return tag;
}

State& state_of(Communicator& comm) {
  if (comm.collectives == nullptr) {
    comm.collectives = std::make_unique<State>(comm);
  }
  return *comm.collectives;
}

}  // namespace meantime::coll
