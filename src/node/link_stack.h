// A stack of what lies in the segment, without a lock: anybody pushes, and whoever takes, takes
// all. Nothing is popped one by one, so it knows no ABA. Zero-filled is empty.
#pragma once

#include <atomic>
#include <cstdint>

namespace meantime::node {

using Link = std::uint64_t;

// All is sequentially consistent, for one argument serves everywhere: whoever pushes and then looks
// whether somebody sleeps, and whoever says that he sleeps and then looks whether something was
// pushed, cannot both miss the other.
class LinkStack {
 public:
  bool empty(std::memory_order order = std::memory_order_relaxed) const {
    return newest_.load(order) == 0;
  }
  /// A hint: it may be gone.
  Link newest() const { return newest_.load(std::memory_order_relaxed); }

  /// One entry, or a chain of them: `first` is its newest, `next` the link behind its oldest.
  template <class Next>
  void push(Link first, Next& next) {
    Link head = newest_.load(std::memory_order_relaxed);
    do {
      set(next, head);
    } while (!newest_.compare_exchange_weak(head, first, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
  }
  /// The newest; the others hang behind it.
  Link take_all() { return newest_.exchange(0, std::memory_order_seq_cst); }

 private:
  static void set(Link& next, Link link) { next = link; }
  static void set(std::atomic<Link>& next, Link link) {
    next.store(link, std::memory_order_relaxed);
  }

  std::atomic<Link> newest_;
};

}  // namespace meantime::node
