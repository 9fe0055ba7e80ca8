#include "deadlock/node_state.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "deadlock/sleepers.h"
#include "deadlock/threads_of_process.h"
#include "node/process.h"
#include "node/segment.h"

namespace meantime::wait {
namespace {

using node::RankState;

struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::uint64_t under_way = 0;
  std::uint64_t offered = 0;
  std::uint64_t fetching = 0;

  bool operator==(const Traffic&) const = default;
};

Traffic traffic_of(const node::RankArea& area) {
  const node::Traffic& traffic = area.traffic;
  return {.sent = traffic.sent.load(std::memory_order_acquire),
          .taken = traffic.taken.load(std::memory_order_acquire),
          .under_way = traffic.under_way.load(std::memory_order_acquire),
          .offered = traffic.offered.load(std::memory_order_acquire),
          .fetching = traffic.fetching.load(std::memory_order_acquire)};
}

/// What a wave sees of a rank.
struct Seen {
  std::uint64_t sleeps = 0;
  unsigned asleep = 0;
  node::Link worker = 0;  ///< a rank that moved between two waves has run
  Traffic traffic;

  bool operator==(const Seen&) const = default;
};

Seen see(const node::Segment& segment, const node::RankArea& area, bool other_nodes) {
  Seen seen;
  seen.sleeps = sleeps_of(segment, area);
  seen.asleep = asleep_of(segment, area);
  seen.worker = area.worker.load(std::memory_order_acquire);
  if (other_nodes) {
    seen.traffic = traffic_of(area);
  }
  return seen;
}

/// The first wave: it looks at each process, too.
class FirstWave {
 public:
  FirstWave(const node::Segment& segment, Look look)
      : segment_(segment),
        look_(look),
        other_nodes_(node::has_other_nodes(segment.header())),
        seen_(segment.header().ranks) {}

  Verdict run() {
    for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
      const Verdict verdict = look_at(segment_.area(static_cast<int>(rank)), seen_[rank]);
      if (verdict != Verdict::deadlock) {
        return verdict;
      }
    }
    // Of ranks that are elsewhere, or not there yet, none was counted.
    return waiting_ + gone_ != segment_.header().ranks_here ? Verdict::running
           : may_be_woken_                                  ? Verdict::quiet
                                                            : Verdict::deadlock;
  }

  bool is_the_same_now() const {
    for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
      if (seen_[rank] != see(segment_, segment_.area(static_cast<int>(rank)), other_nodes_)) {
        return false;
      }
    }
    return all_asleep_or_gone(segment_.header());
  }

  NodeState state() const {
    NodeState sum;
    sum.waiting = waiting_;
    sum.moves = gone_;
    for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
      const node::RankArea& area = segment_.area(static_cast<int>(rank));
      const Traffic& traffic = seen_[rank].traffic;
      // Not a worker's: a rank may change its worker, and its own count never falls.
      sum.moves += area.sleeps.load(std::memory_order_relaxed) +
                   area.account.parks.load(std::memory_order_relaxed);
      sum.sent += traffic.sent;
      sum.taken += traffic.taken;
      sum.under_way += traffic.under_way;
      sum.offered += traffic.offered;
    }
    return sum;
  }

 private:
  /// `deadlock`: the next one may be looked at.
  Verdict look_at(node::RankArea& area, Seen& seen) {
    seen = see(segment_, area, other_nodes_);
    const std::uint64_t process = area.process.load(std::memory_order_relaxed);
    if (process != networked_) {  // the first rank of it counts them
      networked_ = process;
      network_threads_ = area.network_threads.load(std::memory_order_relaxed);
    }
    if (seen.asleep == 0) {
      switch (static_cast<RankState>(area.report.state.load(std::memory_order_seq_cst))) {
        case RankState::finalized:
          ++gone_;
          return Verdict::deadlock;
        case RankState::absent:
          return other_nodes_ ? Verdict::deadlock : Verdict::running;
        case RankState::away:
          return Verdict::doubt;
        default:
          return Verdict::running;
      }
    }
    ++waiting_;
    const node::WorkerPlace* worker = worker_of(segment_, area);
    if (worker != nullptr && worker->offloaded.load(std::memory_order_relaxed) != 0) {
      return Verdict::running;
    }
    const unsigned expected =
        network_threads_ +
        (worker != nullptr ? worker->host_threads.load(std::memory_order_relaxed) : seen.asleep);
    if (area.napping.load(std::memory_order_seq_cst) != 0 ||
        area.starving.load(std::memory_order_seq_cst) != 0 || seen.traffic.fetching != 0 ||
        (look_ == Look::hasty && (area.open_ended.load(std::memory_order_relaxed) != 0 ||
                                  area.threads.load(std::memory_order_relaxed) > expected))) {
      return Verdict::doubt;
    }
    may_be_woken_ |= area.open_ended.load(std::memory_order_relaxed) != 0;
    return process == looked_at_ ? Verdict::deadlock : look_at_process(area, process, expected);
  }

  Verdict look_at_process(node::RankArea& area, std::uint64_t process, unsigned expected) {
    looked_at_ = process;
    const unsigned threads = sleeping_threads(node::pid_here(area));
    if (threads != expected) {
      area.threads.store(threads, std::memory_order_relaxed);
      if (threads < expected || look_ == Look::hasty) {
        return Verdict::doubt;
      }
      may_be_woken_ = true;
    }
    return Verdict::deadlock;
  }

  const node::Segment& segment_;
  const Look look_;
  const bool other_nodes_;
  std::vector<Seen> seen_;
  std::uint64_t waiting_ = 0;
  std::uint64_t gone_ = 0;
  bool may_be_woken_ = false;
  // Many ranks may have the same process.
  std::uint64_t looked_at_ = 0;
  std::uint64_t networked_ = 0;
  unsigned network_threads_ = 0;
};

constexpr std::array<std::string_view, 4> verdicts = {"running", "doubt", "quiet", "deadlock"};

}  // namespace

NodeState look_at_node(const node::Segment& segment, Look look) {
  if (!all_asleep_or_gone(segment.header())) {
    return {};
  }
  FirstWave first(segment, look);
  const Verdict verdict = first.run();
  if (verdict == Verdict::running || verdict == Verdict::doubt) {
    NodeState state;
    state.verdict = verdict;
    return state;
  }
  NodeState state = first.state();
  if (!first.is_the_same_now()) {
    return {};
  }
  state.verdict = verdict;
  return state;
}

std::string words_of(const NodeState& state) {
  return fmt::format("{} {} {} {} {} {} {}", verdicts[static_cast<std::size_t>(state.verdict)],
                     state.waiting, state.moves, state.sent, state.taken, state.under_way,
                     state.offered);
}

std::optional<NodeState> node_state_of(std::string_view words) {
  NodeState state;
  const std::size_t end = words.find(' ');
  const std::string_view name = words.substr(0, end);
  std::size_t verdict = 0;
  while (verdict < verdicts.size() && verdicts[verdict] != name) {
    ++verdict;
  }
  if (verdict == verdicts.size() || end == std::string_view::npos) {
    return std::nullopt;
  }
  state.verdict = static_cast<Verdict>(verdict);
  const char* place = words.data() + end;
  const char* const last = words.data() + words.size();
  for (std::uint64_t* number : {&state.waiting, &state.moves, &state.sent, &state.taken,
                                &state.under_way, &state.offered}) {
    if (place == last || *place != ' ') {
      return std::nullopt;
    }
    const auto [after, error] = std::from_chars(place + 1, last, *number);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    place = after;
  }
  return place == last ? std::optional(state) : std::nullopt;
}

}  // namespace meantime::wait
