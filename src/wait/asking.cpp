#include "wait/asking.h"

#include "node/segment.h"
#include "rank/rank.h"
#include "wait/clock.h"

namespace meantime::wait {

void note_look_in_vain(Rank& rank, std::uint32_t number) {
  if (number % looks_a_note != 0) [[likely]] {
    return;
  }
  node::Asking& asking = rank.area->asking;
  const std::uint64_t now = now_ns();
  if (number == looks_a_note) {
    asking.since_ns.store(now, std::memory_order_relaxed);
  }
  asking.call.store(rank.call.load(std::memory_order_relaxed), std::memory_order_relaxed);
  asking.call_site.store(
      reinterpret_cast<std::uint64_t>(rank.call_site.load(std::memory_order_relaxed)),
      std::memory_order_relaxed);
  asking.asked_ns.store(now, std::memory_order_release);
}

void note_look_found(Rank& rank, std::uint32_t in_vain) {
  if (in_vain >= looks_a_note) {
    rank.area->asking.asked_ns.store(0, std::memory_order_relaxed);
  }
}

}  // namespace meantime::wait
