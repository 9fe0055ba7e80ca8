// The cells that eager messages and descriptions of others travel in. They are of their sender's
// pool; whoever has emptied one gives it back to its sender, which then counts it as its credit.
#include <algorithm>
#include <bit>

#include "match/engine.h"

namespace meantime::match {

/// Not found with a right in hand (adopt, which has a reserve): the search may take long, others
/// would be woken for what this rank can do without, and they could not match meanwhile.
Message* Engine::cell(int destination, std::size_t bytes) {
  const int size_class = std::max(7, static_cast<int>(std::bit_width(bytes - 1)));
  while (free_cells_[size_class] == 0 && take_back_some_cells()) {
  }
  Link place = free_cells_[size_class];
  if (place == 0) {
    // Many small ones at a time, so that emptied cells are fetched back in batches, not one by one.
    const std::size_t size = std::size_t{1} << size_class;
    const std::size_t batch = size <= 512 ? 32 : size <= 4096 ? 8 : 1;
    if (const Link cells = pool.allocate(size * batch); cells != 0) [[likely]] {
      for (std::size_t index = batch; index-- > 0;) {
        add_fresh_cell(cells + index * size, size_class);
      }
    } else if (const Link one = pool.allocate(size); one != 0) {
      add_fresh_cell(one, size_class);
    } else if (Message* message = larger_cell(destination, size_class + 1)) {
      return message;
    } else if (const Link found = holds_right_ ? 0 : find_memory(size); found != 0) {
      add_fresh_cell(found, size_class);
    } else {
      return nullptr;
    }
    place = free_cells_[size_class];
  }
  return cell_at(place, destination);
}

void Engine::add_fresh_cell(Link place, int size_class) {
  auto* fresh = segment_.at<Message>(place);
  fresh->size_class = static_cast<std::uint8_t>(size_class);
  fresh->next.store(free_cells_[size_class], std::memory_order_relaxed);
  free_cells_[size_class] = place;
}

/// The segment is full: a cell that this rank has is better than waiting for ever, whatever its
/// size.
Message* Engine::larger_cell(int destination, int size_class) {
  for (; size_class < cell_classes; ++size_class) {
    if (free_cells_[size_class] != 0) {
      return cell_at(free_cells_[size_class], destination);
    }
  }
  return nullptr;
}

/// The first free cell of its class.
Message* Engine::cell_at(Link place, int destination) {
  auto* message = segment_.at<Message>(place);
  Link& first = free_cells_[message->size_class];
  first = message->next.load(std::memory_order_relaxed);
  __builtin_prefetch(segment_.at<Message>(first), 1);  // was another core's
  message->destination = static_cast<std::uint32_t>(destination);
  message->flags = 0;
  return message;
}

void Engine::give_back(Message& message) {
  if ((message.flags & (in_hand | adopted)) != 0) {
    if ((message.flags & in_hand) != 0) {
      return;
    }
    leave_express(message);
    if (message.keeper == static_cast<std::uint32_t>(rank.world_rank)) {
      take_back_cell(segment_.link(&message));
      return;
    }
  }
  // A cell of another rank. Not at once: the store to its line would hold up the next push.
  emptied_[emptied_count_++] = segment_.link(&message);
  emptied_bytes_ += std::size_t{1} << message.size_class;
  if (emptied_count_ == emptied_limit || emptied_bytes_ > 64 * 1024) {
    flush_emptied();
  }
}

namespace {

std::uint32_t keeper_of(const Message& message) {
  return (message.flags & adopted) != 0 ? message.keeper : message.origin;
}

}  // namespace

void Engine::flush_emptied() {
  // Each run of cells of one rank goes back as one chain of a few that carry the others: a chain of
  // all would take each cell's line away from its owner, who would have to fetch one after the
  // other to follow it (1.1 us for 32 of them, on both sides, in a ping-pong of 0.15 us). A push on
  // a stack that only its owner empties, and as a whole, knows no ABA.
  for (std::size_t begin = 0; begin < emptied_count_;) {
    auto* first = segment_.at<Message>(emptied_[begin]);
    const std::uint32_t keeper = keeper_of(*first);
    std::size_t run = begin + 1;
    while (run < emptied_count_ && keeper_of(*segment_.at<Message>(emptied_[run])) == keeper) {
      ++run;
    }
    Message* last = nullptr;
    std::size_t end = begin;
    while (end < run) {
      auto* carrier = segment_.at<Message>(emptied_[end]);
      if (last != nullptr) {
        last->next.store(emptied_[end], std::memory_order_relaxed);
      }
      last = carrier;
      ++end;
      const std::size_t carried = std::min(Message::most_carried, run - end);
      std::copy_n(emptied_ + end, carried, carrier->carried());
      if (carried < Message::most_carried) {
        carrier->carried()[carried] = 0;
      }
      end += carried;
    }
    std::atomic<Link>& returned = segment_.area(static_cast<int>(keeper)).returned;
    Link head = returned.load(std::memory_order_relaxed);
    do {
      last->next.store(head & ~node::marks_of_returned, std::memory_order_relaxed);
    } while (!returned.compare_exchange_weak(head,
                                             emptied_[begin] | (head & node::marks_of_returned),
                                             std::memory_order_seq_cst, std::memory_order_relaxed));
    memory_is_back(static_cast<int>(keeper));
    begin = end;
  }
  emptied_count_ = 0;
  emptied_bytes_ = 0;
}

void Engine::take_back_cells() {
  while (take_back_some_cells()) {
  }
}

/// Those of one carrier: their lines are fetched for writing, and the next push waits for that.
bool Engine::take_back_some_cells() {
  if (carriers_ == 0) {
    const Link first = area_.returned.load(std::memory_order_relaxed);
    if (first == 0 || (first & node::owner_left) != 0) {
      return false;
    }
    carriers_ = area_.returned.exchange(0, std::memory_order_acquire);
  }
  carriers_ = unload(carriers_, [this](Link cell) { take_back_cell(cell); });
  return true;
}

/// What that carrier has with it, and itself, to `take`. Returns the next carrier.
template <class Take>
Link Engine::unload(Link link, Take take) {
  auto* carrier = segment_.at<Message>(link);
  const Link next = carrier->next.load(std::memory_order_relaxed);
  Link carried[Message::most_carried];
  std::copy_n(carrier->carried(), Message::most_carried, carried);
  take(link);
  for (std::size_t i = 0; i < Message::most_carried && carried[i] != 0; ++i) {
    take(carried[i]);
  }
  return next;
}

// Each cell that comes back is for one, however a rank's leaving and coming back fall in between:
// who returns it, who fetches it, and who leaves or comes back change one word, and each sees in it
// what the one before has done. So the rank knows when it comes back whether any went to others;
// those it cannot count out.
void Engine::leave_returned() {
  take_back_cells();
  carriers_ = area_.returned.exchange(node::owner_left, std::memory_order_acq_rel);
  while (carriers_ != 0) {
    take_back_some_cells();
  }
}

/// Of ranks that have left. They become this rank's. True if there were any.
bool Engine::take_from_who_left() {
  bool any = false;
  if (segment_.header().finalized.load(std::memory_order_relaxed) == 0) {
    return any;  // each nap ends with a look
  }
  for (int other = 0; other < rank.world_size; ++other) {
    std::atomic<Link>& returned = segment_.area(other).returned;
    Link first = returned.load(std::memory_order_relaxed);
    while ((first & node::owner_left) != 0 && (first & ~node::marks_of_returned) != 0) {
      if (!returned.compare_exchange_weak(first, node::marks_of_returned, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        continue;
      }
      for (first &= ~node::marks_of_returned; first != 0;) {
        first = unload(first, [this](Link cell) {
          pool.release(cell, std::size_t{1} << segment_.at<Message>(cell)->size_class);
        });
      }
      any = true;
    }
  }
  return any;
}

void Engine::come_back() {
  const Link first = area_.returned.exchange(0, std::memory_order_acquire);
  carriers_ = first & ~node::marks_of_returned;
  take_back_cells();
  if ((first & node::others_took) != 0) {
    // It begins anew; what still lies unread of what it sent before is beyond its credit.
    peers_.for_each([](Peer& to) { to.bytes = 0; });
    credit_.begin_anew();
  }
}

void Engine::take_back_cell(Link link) {
  auto* message = segment_.at<Message>(link);
  if ((message->flags & adopted) == 0) {
    credit_.count_out(peers_[static_cast<int>(message->destination)],
                      std::size_t{1} << message->size_class);
  }
  if (message->copy_ns != 0) {
    route_.two_copies_took(message->bytes, message->copy_ns);
  }
  message->next.store(free_cells_[message->size_class], std::memory_order_relaxed);
  free_cells_[message->size_class] = link;
}

}  // namespace meantime::match
