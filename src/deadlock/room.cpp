#include "deadlock/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "node/segment.h"

namespace meantime::wait {
namespace {

using Nodes = std::span<const node::Segment* const>;

node::RankState state_of(const node::RankArea& area) {
  return static_cast<node::RankState>(area.report.state.load(std::memory_order_acquire));
}

/// To the other nodes it is absent.
const node::RankArea& area_of(Nodes nodes, int rank) {
  const auto home = std::find_if(nodes.begin(), nodes.end(), [rank](const node::Segment* segment) {
    return state_of(segment->area(rank)) != node::RankState::absent;
  });
  return (home != nodes.end() ? *home : nodes.front())->area(rank);
}

bool all_wait_in_sends(Nodes nodes, CallName call_name) {
  bool any = false;
  const auto ranks = static_cast<int>(nodes.front()->header().ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const node::RankArea& area = area_of(nodes, rank);
    const node::Report& report = area.report;
    if (state_of(area) == node::RankState::finalized) {
      continue;
    }
    const std::string_view call = call_name(static_cast<std::uint16_t>(report.call.load()));
    const int to = report.world_peer.load();
    if (state_of(area) != node::RankState::waiting ||
        (call != "MPI_Send" && call != "MPI_Ssend" && call != "MPI_Rsend") ||
        (to >= 0 && state_of(area_of(nodes, to)) == node::RankState::finalized)) {  // won't receive
      return false;
    }
    any = true;
  }
  return any;
}

}  // namespace

std::string describe_room(Nodes nodes, CallName call_name) {
  for (const node::Segment* const segment : nodes) {
    if (segment->header().wanting.load() != 0) {
      return fmt::format("  ({})\n", describe_lack(*segment));
    }
  }
  const auto ranks = static_cast<int>(nodes.front()->header().ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (area_of(nodes, rank).out_of_credit.load(std::memory_order_relaxed) != 0) {
      return fmt::format(
          "  (short messages of rank {} that nobody has received fill the room that there is for "
          "them;"
          " for more of it: mpiexec -x MEANTIME_EAGER_MOST=8G)\n",
          rank);
    }
  }
  return all_wait_in_sends(nodes, call_name)
             ? "  (all wait in sends of messages that have no room, which wait for their receives: "
               "let ranks receive first, or call MPI_Sendrecv or MPI_Irecv)\n"
             : "";
}

}  // namespace meantime::wait
