#include "launch/nodes/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "launch/cli/host_list.h"
#include "settings/shown.h"

namespace meantime::launch {

std::string Member::text() const {
  const std::string machine = settings::shown(name);
  return ranks == 0 ? machine
         : ranks == 1
             ? fmt::format("{} (rank {})", machine, first_rank)
             : fmt::format("{} (ranks {}-{})", machine, first_rank, first_rank + ranks - 1);
}

double Job::most_silent_seconds() const {
  constexpr double least = 2;
  const std::string said = setting("MEANTIME_LOST_AFTER");
  return std::max(least, std::strtod(said.empty() ? "10" : said.c_str(), nullptr));
}

std::vector<int> ranks_of_nodes(const std::vector<NodeRequest>& nodes, int ranks) {
  const int slots = slots_of(nodes);
  std::vector<int> counts;
  int slots_before = 0;
  int ranks_before = 0;
  for (const NodeRequest& node : nodes) {
    slots_before = std::min(slots_before + node.slots, slots);
    const int until = ranks <= slots ? std::min(slots_before, ranks)
                                     : static_cast<int>(std::int64_t{ranks} * slots_before / slots);
    counts.push_back(until - ranks_before);
    ranks_before = until;
  }
  return counts;
}

void settle_ranks(Job& job, int own) {
  for (std::size_t number = 0; number < job.members.size(); ++number) {
    Member& member = job.members[number];
    member.first_rank = static_cast<int>(job.first_of_node.size());
    for (int rank = member.first_rank; rank < member.first_rank + member.ranks; ++rank) {
      job.first_of_node.push_back(member.first_rank);
      job.member_of.push_back(static_cast<int>(number));
      if (static_cast<int>(number) != own) {
        job.ranks[static_cast<std::size_t>(rank)].be_elsewhere();
      }
    }
  }
}

}  // namespace meantime::launch
