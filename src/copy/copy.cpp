#include "copy/copy.h"

#include <algorithm>
#include <bit>

namespace meantime::copy {
namespace {

/// The bits of so many fragments.
std::uint64_t bits_of(std::uint32_t fragments) {
  return fragments == most_fragments ? ~std::uint64_t{0} : (std::uint64_t{1} << fragments) - 1;
}

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

std::uint32_t next_of(std::uint64_t free, Order order) {
  return static_cast<std::uint32_t>(order == Order::from_front ? std::countr_zero(free)
                                                               : std::bit_width(free) - 1);
}

}  // namespace

void Copy::divide(std::uint64_t about_bytes) {
  const std::uint64_t least = divided_up(bytes, most_fragments);
  fragment_pages = static_cast<std::uint32_t>(divided_up(std::max(about_bytes, least), page_bytes));
}

std::uint32_t Copy::fragments() const {
  return static_cast<std::uint32_t>(divided_up(bytes, fragment_bytes()));
}

Stretch Copy::fragment(std::uint32_t number) const {
  const std::uint64_t begin = number * fragment_bytes();
  return {begin, std::min(fragment_bytes(), bytes - begin)};
}

// Relaxed: whose a fragment is, one word's own order says; that its bytes are there, `settled`.
std::optional<std::uint32_t> Copy::claim(Order order) {
  const std::uint64_t all = bits_of(fragments());
  std::uint64_t before = claimed.load(std::memory_order_relaxed);
  while (const std::uint64_t free = all & ~before) {
    const std::uint32_t next = next_of(free, order);
    if (claimed.compare_exchange_weak(before, before | std::uint64_t{1} << next,
                                      std::memory_order_relaxed)) {
      return next;
    }
  }
  return std::nullopt;
}

bool Copy::settle(std::uint32_t number, int errno_or_0) {
  const std::uint32_t all = fragments();  // who is not the last must not look at it afterwards
  if (errno_or_0 == 0) {
    // release, for who looks at a page of it; `settled` orders it for the last one.
    done.fetch_or(std::uint64_t{1} << number, std::memory_order_release);
  } else {
    std::int32_t none = 0;
    error.compare_exchange_strong(none, errno_or_0, std::memory_order_relaxed);
  }
  // acq_rel: who completes the number has seen all the others' bytes, and what they could not move.
  return settled.fetch_add(1, std::memory_order_acq_rel) + 1 == all;
}

std::uint64_t Copy::rest_bytes() const {
  std::uint64_t moved = 0;
  for (std::uint64_t left = done.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    moved += fragment(static_cast<std::uint32_t>(std::countr_zero(left))).bytes;
  }
  return bytes - moved;
}

Stretch Copy::rest_at(std::uint64_t offset) const {
  const std::uint64_t there = done.load(std::memory_order_relaxed);
  if (there == 0) {
    return {offset, bytes - offset};
  }
  for (std::uint64_t left = bits_of(fragments()) & ~there; left != 0; left &= left - 1) {
    const Stretch stretch = fragment(static_cast<std::uint32_t>(std::countr_zero(left)));
    if (offset < stretch.bytes) {
      return {stretch.begin + offset, stretch.bytes - offset};
    }
    offset -= stretch.bytes;
  }
  return {bytes, 0};
}

}  // namespace meantime::copy
