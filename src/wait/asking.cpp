#include "wait/asking.h"

#include "node/segment.h"
#include "rank/rank.h"
#include "wait/clock.h"

namespace meantime::wait {

namespace {

/// `since_ns`: if it has not asked lately.
void note(Rank& rank, std::uint64_t since_ns, std::uint64_t now_ns) {
  node::Asking& asking = rank.area->asking;
  if (asking.asked_ns.load(std::memory_order_relaxed) + note_lasts_ns < now_ns) {
    asking.since_ns.store(since_ns, std::memory_order_relaxed);
  }
  asking.call.store(rank.call.load(std::memory_order_relaxed), std::memory_order_relaxed);
  asking.call_site.store(
      reinterpret_cast<std::uint64_t>(rank.call_site.load(std::memory_order_relaxed)),
      std::memory_order_relaxed);
  asking.asked_ns.store(now_ns, std::memory_order_release);
}

}  // namespace

void note_look_in_vain(Rank& rank, std::uint32_t number) {
  if (number % looks_a_note == 0) [[unlikely]] {
    const std::uint64_t now = now_ns();
    note(rank, now, now);
  }
}

void note_nap_in_vain(Rank& rank, std::uint64_t since_ns, std::uint64_t now_ns) {
  note(rank, since_ns, now_ns);
}

void note_look_found(Rank& rank) {
  std::atomic<std::uint64_t>& asked = rank.area->asking.asked_ns;
  if (asked.load(std::memory_order_relaxed) != 0) {
    asked.store(0, std::memory_order_relaxed);
  }
}

}  // namespace meantime::wait
