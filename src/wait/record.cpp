#include "wait/record.h"

#include <algorithm>
#include <cstring>

#include "rank/rank.h"
#include "wait/clock.h"

namespace meantime::wait {

Record::Record(Rank& rank, const Awaited& what)
    : rank_(rank), began_(now_ns()), earlier_(rank.waiting) {
  situation_.call = rank.call.load(std::memory_order_relaxed);
  situation_.call_site = rank.call_site.load(std::memory_order_relaxed);
  what.describe(situation_);
  policy_ = situation_.policy != nullptr ? *situation_.policy : rank.policy;
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

namespace {

/// As much of it as there is room for.
void report_name(node::Report& report, std::string_view name) {
  for (std::atomic<std::uint64_t>& place : report.name) {
    const std::size_t bytes = std::min(name.size(), sizeof place);
    std::uint64_t word = 0;
    std::memcpy(&word, name.data(), bytes);
    place.store(word, std::memory_order_relaxed);
    if (bytes < sizeof place) {
      break;
    }
    name.remove_prefix(bytes);
  }
}

}  // namespace

void Record::report() const {
  node::Report& report = rank_.area->report;
  report.call.store(situation_.call, std::memory_order_relaxed);
  report.call_site.store(reinterpret_cast<std::uint64_t>(situation_.call_site),
                         std::memory_order_relaxed);
  report.context.store(situation_.context, std::memory_order_relaxed);
  report_name(report, situation_.name == nullptr ? std::string_view() : *situation_.name);
  report.peer.store(situation_.peer, std::memory_order_relaxed);
  report.world_peer.store(situation_.world_peer, std::memory_order_relaxed);
  report.tag.store(situation_.tag, std::memory_order_relaxed);
  report.requests.store(situation_.requests, std::memory_order_relaxed);
  report.since_ns.store(began_, std::memory_order_relaxed);
  report.state.store(static_cast<std::uint32_t>(node::RankState::waiting),
                     std::memory_order_release);
}

}  // namespace meantime::wait
