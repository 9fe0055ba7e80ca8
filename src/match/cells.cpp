#include "match/cells.h"

#include "match/eager_ring.h"
#include "match/memory.h"
#include "match/spilled.h"
#include "match/ways/remote.h"

namespace meantime::match {

Message* Cells::take(int destination, std::size_t bytes) {
  int size_class = class_for(bytes);
  while (free_[size_class] == 0 && take_back_some()) {
  }
  if (free_[size_class] == 0) [[unlikely]] {
    // Many small ones at a time, so that emptied cells are fetched back in batches, not one by one.
    const std::size_t size = std::size_t{1} << size_class;
    const std::size_t batch = size <= 512 ? 32 : size <= 4096 ? 8 : 1;
    if (const Link cells = ground_.pool.allocate(size * batch); cells != 0) {
      for (std::size_t index = batch; index-- > 0;) {
        add_fresh(cells + index * size, size_class);
      }
    } else if (const Link one = ground_.pool.allocate(size); one != 0) {
      add_fresh(one, size_class);
    } else {
      // The segment is full: a cell that this rank has is better than waiting for ever, whatever
      // its size.
      const Link* const larger = std::find_if(free_ + size_class + 1, free_ + classes,
                                              [](Link first) { return first != 0; });
      if (larger == free_ + classes) {
        return nullptr;
      }
      size_class = static_cast<int>(larger - free_);
    }
  }
  Link& first = free_[size_class];
  auto* message = ground_.segment.at<Message>(first);
  first = message->next.load(std::memory_order_relaxed);
  __builtin_prefetch(ground_.segment.at<Message>(first));  // was another core's
  message->destination = static_cast<std::uint32_t>(destination);
  message->flags = 0;
  return message;
}

Message* Cells::search(int destination, std::size_t bytes) {
  const int size_class = class_for(bytes);
  const Link place = memory_.search(std::size_t{1} << size_class);
  if (place == 0) {
    return nullptr;
  }
  add_fresh(place, size_class);
  return take(destination, bytes);
}

void Cells::give_back(Message& message) {
  if ((message.flags & (in_hand | adopted | from_elsewhere)) != 0) {
    if ((message.flags & in_hand) != 0) {
      if ((message.flags & spilled) != 0) [[unlikely]] {
        if ((message.flags & owes_notice) != 0) {
          owed_.push_back({static_cast<int>(message.origin), message.fetched_send});
          send_notices();
        }
        Spilled::forget(message);
      }
      return;
    }
    if ((message.flags & adopted) != 0) {
      eager_ring_from(ground_.area, message.origin)
          ->adopted.fetch_sub(1, std::memory_order_relaxed);
    } else if (message.kind == ItemKind::eager) {
      ground_.remote->owe_credit(message.origin, message.bytes);
    }
    if (ground_.is_me(message.keeper)) {
      take_back_one(message);
      return;
    }
  }
  emptied_[emptied_count_++] = ground_.segment.link(&message);
  emptied_bytes_ += size_of(message);
  if (emptied_count_ == emptied_limit || emptied_bytes_ > emptied_bytes_limit) {
    flush_emptied();
  }
}

void Cells::send_notices() {
  while (!owed_.empty()) {
    const Owed owed = owed_.back();
    Message* const notice = find(owed.sender, sizeof(Message));
    if (notice == nullptr) {
      return;  // whoever waits naps (starving), and finds some
    }
    owed_.pop_back();
    ground_.credit.count_in(ground_.peers[owed.sender], size_of(*notice));
    notice->kind = ItemKind::notice;
    notice->origin = static_cast<std::uint32_t>(ground_.rank.world_rank);
    notice->copy_ns = 0;
    notice->fetched_send = owed.send;
    ground_.segment.area(owed.sender)
        .mailbox.attention.push(ground_.segment.link(notice), notice->next);
    ground_.bells.ring_rank(owed.sender);
  }
}

namespace {

std::uint32_t keeper_of(const Message& message) {
  return (message.flags & (adopted | from_elsewhere)) != 0 ? message.keeper : message.origin;
}

}  // namespace

void Cells::flush_emptied() {
  // Each run of cells of one rank goes back as one chain of a few that carry the others: a chain of
  // all would take each cell's line away from its owner, who would have to fetch one after the
  // other to follow it (1.1 us for 32 of them, on both sides, in a ping-pong of 0.15 us). A push on
  // a stack that only its owner empties, and as a whole, knows no ABA.
  for (std::size_t begin = 0; begin < emptied_count_;) {
    auto* first = ground_.segment.at<Message>(emptied_[begin]);
    const std::uint32_t keeper = keeper_of(*first);
    std::size_t run = begin + 1;
    while (run < emptied_count_ &&
           keeper_of(*ground_.segment.at<Message>(emptied_[run])) == keeper) {
      ++run;
    }
    Message* last = nullptr;
    std::size_t end = begin;
    while (end < run) {
      auto* carrier = ground_.segment.at<Message>(emptied_[end]);
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
    std::atomic<Link>& returned = ground_.segment.area(static_cast<int>(keeper)).returned;
    Link head = returned.load(std::memory_order_relaxed);
    do {
      last->next.store(head & ~node::marks_of_returned, std::memory_order_relaxed);
    } while (!returned.compare_exchange_weak(head,
                                             emptied_[begin] | (head & node::marks_of_returned),
                                             std::memory_order_seq_cst, std::memory_order_relaxed));
    ground_.bells.memory_is_back(static_cast<int>(keeper));
    begin = end;
  }
  emptied_count_ = 0;
  emptied_bytes_ = 0;
}

/// Those of one carrier: their lines are fetched for writing, and the next push waits for that.
bool Cells::take_back_some() {
  if (carriers_ == 0) {
    const Link first = ground_.area.returned.load(std::memory_order_relaxed);
    if (first == 0 || (first & node::owner_left) != 0) {
      return false;
    }
    carriers_ = ground_.area.returned.exchange(0, std::memory_order_acquire);
  }
  carriers_ = unload(carriers_, [this](Message& cell) { take_back_one(cell); });
  return true;
}

/// What that carrier has with it, and itself, to `take`. Returns the next carrier.
template <class Take>
Link Cells::unload(Link link, Take take) {
  auto* carrier = ground_.segment.at<Message>(link);
  const Link next = carrier->next.load(std::memory_order_relaxed);
  Link carried[Message::most_carried];
  std::copy_n(carrier->carried(), Message::most_carried, carried);
  take(*carrier);
  for (std::size_t i = 0; i < Message::most_carried && carried[i] != 0; ++i) {
    take(*ground_.segment.at<Message>(carried[i]));
  }
  return next;
}

// Each cell that comes back is for one, however a rank's leaving and coming back fall in between:
// who returns it, who fetches it, and who leaves or comes back change one word, and each sees in it
// what the one before has done. So the rank knows when it comes back whether any went to others;
// those it cannot count out.
void Cells::leave() {
  take_back();
  carriers_ = ground_.area.returned.exchange(node::owner_left, std::memory_order_acq_rel);
  while (carriers_ != 0) {
    take_back_some();
  }
}

bool Cells::take_from_who_left() {
  bool any = false;
  if (ground_.segment.header().finalized.load(std::memory_order_relaxed) == 0) {
    return any;  // each nap ends with a look
  }
  for (int other = 0; other < ground_.rank.world_size; ++other) {
    std::atomic<Link>& returned = ground_.segment.area(other).returned;
    Link first = returned.load(std::memory_order_relaxed);
    while ((first & node::owner_left) != 0 && (first & ~node::marks_of_returned) != 0) {
      if (!returned.compare_exchange_weak(first, node::marks_of_returned, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        continue;
      }
      for (first &= ~node::marks_of_returned; first != 0;) {
        first = unload(first, [this](Message& cell) {
          ground_.pool.release(ground_.segment.link(&cell), size_of(cell));
        });
      }
      any = true;
    }
  }
  return any;
}

void Cells::come_back() {
  const Link first = ground_.area.returned.exchange(0, std::memory_order_acquire);
  carriers_ = first & ~node::marks_of_returned;
  take_back();
  if ((first & node::others_took) != 0) {
    // It begins anew; what still lies unread of what it sent before is beyond its credit.
    ground_.peers.for_each([](Peer& to) { to.bytes = 0; });
    ground_.credit.begin_anew();
  }
}

void Cells::take_back_one(Message& cell) {
  if ((cell.flags & (adopted | from_elsewhere)) == 0) {
    ground_.credit.count_out(ground_.peers[static_cast<int>(cell.destination)], size_of(cell));
  }
  if (cell.copy_ns != 0) {
    ground_.route.two_copies_took(cell.bytes, cell.copy_ns);
  }
  add(cell);
}

void Cells::release_free() {
  for (Link& first : free_) {
    while (first != 0) {
      auto* const cell = ground_.segment.at<Message>(first);
      const Link place = first;
      first = cell->next.load(std::memory_order_relaxed);
      ground_.pool.release(place, size_of(*cell));
    }
  }
}

}  // namespace meantime::match
