#include "wait/record.h"

#include "rank/rank.h"
#include "wait/clock.h"

namespace meantime::wait {

Record::Record(Rank& rank, const Awaited& what)
    : rank_(rank), began_(now_ns()), earlier_(rank.waiting) {
  situation_.call = rank.call.load(std::memory_order_relaxed);
  situation_.call_site = rank.call_site.load(std::memory_order_relaxed);
  what.describe(situation_);
  rank.waiting = this;
  report();
}

Record::~Record() {
  Record** place = &rank_.waiting;
  while (*place != this) {
    place = &(*place)->earlier_;
  }
  *place = earlier_;
  if (rank_.waiting != nullptr) {
    rank_.waiting->report();
  } else {
    rank_.area->report.state.store(static_cast<std::uint32_t>(node::RankState::running),
                                   std::memory_order_relaxed);
  }
  node::Account& account = rank_.area->account;
  account.waits.store(account.waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  account.wait_ns.store(account.wait_ns.load(std::memory_order_relaxed) + waited_ns(),
                        std::memory_order_relaxed);
}

std::uint64_t Record::waited_ns() const {
  return now_ns() - began_;
}

void Record::report() const {
  node::Report& report = rank_.area->report;
  report.call.store(situation_.call, std::memory_order_relaxed);
  report.call_site.store(reinterpret_cast<std::uint64_t>(situation_.call_site),
                         std::memory_order_relaxed);
  report.context.store(situation_.context, std::memory_order_relaxed);
  report.peer.store(situation_.peer, std::memory_order_relaxed);
  report.tag.store(situation_.tag, std::memory_order_relaxed);
  report.requests.store(situation_.requests, std::memory_order_relaxed);
  report.since_ns.store(began_, std::memory_order_relaxed);
  report.state.store(static_cast<std::uint32_t>(node::RankState::waiting),
                     std::memory_order_release);
}

}  // namespace meantime::wait
