#include "deadlock/test_loop_note.h"

#include <algorithm>

#include "base/clock.h"
#include "node/segment.h"
#include "rank/rank.h"

namespace meantime::wait {
namespace {

/// The test from which on the rank is said to be in such a loop. Of a thread rank the first:
/// between two of them others may compute for long, so that the 64th comes seconds later; and a
/// look at the clock is little beside giving way to them.
std::uint32_t begins_with(const Rank& rank) {
  return rank.fiber != nullptr ? 1 : tests_a_note;
}

}  // namespace

void note_test_in_vain(Rank& rank, std::uint32_t number) {
  const bool begins = number == begins_with(rank);
  const bool is_noted = number % tests_a_note == 0;
  if (!begins && !is_noted) [[likely]] {
    return;
  }
  node::TestLoopNote& note = rank.area->test_loop;
  const std::uint64_t now = now_ns();
  if (begins) {
    note.since_ns.store(now, std::memory_order_relaxed);
  }
  if (!is_noted) {
    return;
  }
  note.call.store(rank.call.load(std::memory_order_relaxed), std::memory_order_relaxed);
  note.call_site.store(
      reinterpret_cast<std::uint64_t>(rank.call_site.load(std::memory_order_relaxed)),
      std::memory_order_relaxed);
  note.noted_ns.store(now, std::memory_order_release);
}

void note_nap(Rank& rank, std::uint32_t in_vain, std::uint64_t now_ns) {
  if (in_vain >= tests_a_note && !rank.lock.enabled()) {
    rank.area->test_loop.noted_ns.store(now_ns, std::memory_order_release);
  }
}

std::uint64_t test_loop_since_ns(const Rank& rank, std::uint32_t in_vain, std::uint64_t since_ns) {
  if (in_vain < begins_with(rank) || rank.lock.enabled()) {  // the note may be another thread's
    return since_ns;
  }
  return std::min(since_ns, rank.area->test_loop.since_ns.load(std::memory_order_relaxed));
}

void note_test_found(Rank& rank, std::uint32_t in_vain) {
  if (in_vain >= tests_a_note) {
    rank.area->test_loop.noted_ns.store(0, std::memory_order_relaxed);
  }
}

}  // namespace meantime::wait
