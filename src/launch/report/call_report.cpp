#include "launch/report/call_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "launch/report/json.h"
#include "protocol/call_names.h"

namespace meantime::launch {
namespace {

using ledger::Activity;
using ledger::SiteFigures;

std::vector<SiteFigures> by_call(const ledger::Figures& figures) {
  std::map<std::uint16_t, SiteFigures> sums;
  for (const ledger::RankFigures& rank : figures.ranks) {
    for (const SiteFigures& site : rank.sites) {
      const auto [place, is_new] = sums.try_emplace(site.call, site);
      if (!is_new) {
        place->second.add(site);
      }
    }
  }
  std::vector<SiteFigures> calls;
  for (const auto& [call, sum] : sums) {
    calls.push_back(sum);
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const SiteFigures& one, const SiteFigures& other) {
                     return one.total_ns > other.total_ns;
                   });
  return calls;
}

double spent(const SiteFigures& call, Activity activity) {
  return static_cast<double>(call.spent_ns[static_cast<std::size_t>(activity)]) * 1e-9;
}

double of_rank(const SiteFigures& call) {
  return spent(call, Activity::poll) + spent(call, Activity::yield);
}

}  // namespace

std::string call_table(const ledger::Figures& figures) {
  std::string text;
  for (const SiteFigures& call : by_call(figures)) {
    text += fmt::format("{:>7} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}  {}\n", call.waits,
                        static_cast<double>(call.total_ns) * 1e-9, of_rank(call),
                        spent(call, Activity::help), spent(call, Activity::sleep),
                        call_name(call.call));
  }
  return text.empty() ? text
                      : "  waits     total      rank  core ran  core ran  of all ranks, by call\n"
                        "                s   awake s  others s  nobody s\n" +
                            text;
}

std::string json_calls(const ledger::Figures& figures) {
  std::string text;
  for (const SiteFigures& call : by_call(figures)) {
    text += fmt::format(R"({}    {{"call": {}, "waits": {}, "seconds": {:.9f}, "rank": {:.9f}, )"
                        R"("core_others": {:.9f}, "core_nobody": {:.9f}}})",
                        text.empty() ? "" : ",\n", quoted(call_name(call.call)), call.waits,
                        static_cast<double>(call.total_ns) * 1e-9, of_rank(call),
                        spent(call, Activity::help), spent(call, Activity::sleep));
  }
  return text;
}

}  // namespace meantime::launch
