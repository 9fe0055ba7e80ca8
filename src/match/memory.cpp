// Where the segment is full: whoever can go on with what is free somewhere goes on.
//   free      in no message, receive or collective: in a pool, or an empty cell. A rank that has
//             nothing to do (Engine::let_go) keeps none while others lack some
//   wanting   a rank that has looked through all that is free in its own hands, and among what
//             others gave up, and lacks memory for a message, a pipe or a collective (Starves). It
//             says so in the header, wakes everybody once, and naps (starving(), park.cpp); each
//             nap ends with a look
//   given up  what others give up for these. Who wants takes all of it, and gives up what is left
//             over before it naps or sleeps itself: two that want in turn do not keep each other
//             from it
//
// Why no free memory is overlooked for good.
//   A sleeper: it arms, then looks at `wanting`, and gives up what it has if somebody wants. Who
// wants counts itself in, then rings all. Both are sequentially consistent, so either the sleeper's
// look sees the count, or the ring finds the sleeper, as with any doorbell (sleep/doorbell.h); then
// it comes by that look again before it goes on sleeping.
//   Where another thread of the sleeper's rank is awake in a wait, a looker, the ring wakes nobody
// (sleep/lookers.h), and one that naps may be rung in the sleeper's place: each looks at `wanting`
// before it sleeps itself or leaves its wait, after it has ceased to be there. So again one of the
// two sees the other.
//   What comes back to a sleeper: whoever returns a cell or delivers a message does that, then
// looks at `wanting`, and rings the owner if somebody wants. Again one of the two sees the other:
// if that look misses the count, the ring of all comes later, and the owner, rung, finds what came
// back.
//   What comes back to a rank that has left MPI: who wants fetches it (cells.cpp). Nobody is rung
// for that, but each nap ends with a look.
//   A rank that computes gives nothing up. It is awake, so nobody is told that memory is full.
//   Who wants is rung by those who give up and do not want themselves: a help only, it naps. (Two
// that want do not ring each other, or they would hand the same pieces to and fro for ever.)
#include "match/engine.h"
#include "wait/wait.h"

namespace meantime::match {

Link Engine::memory(std::size_t bytes) {
  const Link place = pool.allocate(bytes);
  return place != 0 ? place : find_memory(bytes);
}

/// All that this rank has free goes to its pool, which makes one piece of those that lie side by
/// side: a thousand cells of 128 bytes are as good as any other memory. Then what others gave up.
Link Engine::find_memory(std::size_t bytes) {
  gather_free();
  Link place = pool.join() ? pool.allocate(bytes) : 0;
  if (place == 0) {
    const bool given_up = pool.take_given_up();
    if (take_from_who_left() || given_up) {
      pool.join();
      place = pool.allocate(bytes);
    }
  }
  if (place == 0) {
    want_memory();
  }
  return place;
}

void Engine::gather_free() {
  take_back_cells();
  if (!moves_pipes_) {  // reaping may copy, and begin with a pipe
    peers_.for_each([this](Peer& to) {
      gather_left_behind(to);
      to.offered.for_each([this](LocalSend& send) { reap(send); });
    });
  }
  for (Link& first : free_cells_) {
    while (first != 0) {
      auto* const cell = segment_.at<Message>(first);
      const Link place = first;
      first = cell->next.load(std::memory_order_relaxed);
      pool.release(place, std::size_t{1} << cell->size_class);
    }
  }
}

void Engine::want_memory() {
  if (wanting_) {
    return;
  }
  wanting_ = true;
  area_.wants_memory.store(1, std::memory_order_relaxed);
  segment_.header().wanting.fetch_add(1, std::memory_order_seq_cst);
  for (int other = 0; other < rank.world_size; ++other) {
    if (other != rank.world_rank) {
      wake_rank(other);
    }
  }
}

/// It has sent all that waited for memory.
void Engine::end_of_want() {
  wanting_ = false;
  area_.wants_memory.store(0, std::memory_order_relaxed);
  segment_.header().wanting.fetch_sub(1, std::memory_order_relaxed);
}

/// After something of that rank's came back to it.
void Engine::memory_is_back(int world_rank) {
  if (segment_.header().wanting.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
    wake_rank(world_rank);
  }
}

void Engine::let_go() {
  if (emptied_count_ != 0) {
    flush_emptied();  // their senders may lack them all the while
  }
  const std::uint32_t wanting = segment_.header().wanting.load(std::memory_order_seq_cst);
  if (wanting > (wanting_ ? 1 : 0)) [[unlikely]] {
    give_up_memory();
  }
}

void Engine::leave_memory() {
  if (wanting_) {
    end_of_want();
  }
  if (emptied_count_ != 0) {
    flush_emptied();
  }
  orphan_left_behind();
  leave_returned();
  give_up_memory();
}

void Engine::give_up_memory() {
  gather_free();
  if (!pool.give_up_all() || wanting_) {
    return;
  }
  for (int other = 0; other < rank.world_size; ++other) {
    if (other != rank.world_rank &&
        segment_.area(other).wants_memory.load(std::memory_order_relaxed) != 0) {
      wake_rank(other);
    }
  }
}

}  // namespace meantime::match
