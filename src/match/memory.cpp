#include "match/memory.h"

#include "match/sends.h"

namespace meantime::match {

void Memory::prepare() {
  while (spare_receive_count_ < last_spare_receives) {
    spare_receives_[spare_receive_count_++] = ground_.pool.allocate(sizeof(Receive));
  }
}

/// All that this rank has free goes to its pool, which makes one piece of those that lie side by
/// side: a thousand cells of 128 bytes are as good as any other memory. Then what others gave up.
Link Memory::search(std::size_t bytes) {
  node::Pool& pool = ground_.pool;
  gather_free();
  Link place = pool.join() ? pool.allocate(bytes) : 0;
  if (place == 0) {
    const bool given_up = pool.take_given_up();
    if (cells_.take_from_who_left() || given_up) {
      pool.join();
      place = pool.allocate(bytes);
    }
  }
  if (place == 0) {
    want();
  }
  return place;
}

void Memory::gather_free() {
  while (spare_receive_count_ > last_spare_receives) {
    ground_.pool.release(spare_receives_[--spare_receive_count_], sizeof(Receive));
  }
  if (depositor != nullptr) {
    depositor->take_back();
  }
  cells_.take_back();
  sends_.reap_all();
  cells_.release_free();
}

void Memory::want() {
  if (wanting_) {
    return;
  }
  wanting_ = true;
  ground_.area.wants_memory.store(1, std::memory_order_relaxed);
  ground_.segment.header().wanting.fetch_add(1, std::memory_order_seq_cst);
  for (int other = 0; other < ground_.rank.world_size; ++other) {
    if (other != ground_.rank.world_rank) {
      ground_.bells.ring_rank(other);
    }
  }
}

void Memory::end_want() {
  if (wanting_) {
    wanting_ = false;
    ground_.area.wants_memory.store(0, std::memory_order_relaxed);
    ground_.segment.header().wanting.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool Memory::let_go() {
  cells_.flush();  // their senders may lack them all the while
  const std::uint32_t wanting = ground_.segment.header().wanting.load(std::memory_order_seq_cst);
  if (wanting > (wanting_ ? 1 : 0)) [[unlikely]] {
    give_up();
  }
  return wanting != 0;
}

void Memory::give_up() {
  gather_free();
  if (ground_.pool.give_up_all() && !wanting_) {
    ring_who_wants();
  }
}

void Memory::ring_who_wants() {
  for (int other = 0; other < ground_.rank.world_size; ++other) {
    if (other != ground_.rank.world_rank &&
        ground_.segment.area(other).wants_memory.load(std::memory_order_relaxed) != 0) {
      ground_.bells.ring_rank(other);
    }
  }
}

}  // namespace meantime::match
