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

struct Call {
  SiteFigures sum;
  bool by_processes = false;  ///< also: their cores ran whom the kernel let, and nobody has told
};

std::vector<Call> by_call(const ledger::Figures& figures) {
  std::map<std::uint16_t, Call> sums;
  for (const ledger::RankFigures& rank : figures.ranks) {
    for (const SiteFigures& site : rank.sites) {
      const auto [place, is_new] = sums.try_emplace(site.call, Call{site});
      if (!is_new) {
        place->second.sum.add(site);
      }
      place->second.by_processes = place->second.by_processes || rank.worker < 0;
    }
  }
  std::vector<Call> calls;
  for (const auto& [call, sum] : sums) {
    calls.push_back(sum);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const Call& one, const Call& other) {
    return one.sum.total_ns > other.sum.total_ns;
  });
  return calls;
}

double spent(const SiteFigures& call, Activity activity) {
  return static_cast<double>(call.spent_ns[static_cast<std::size_t>(activity)]) * 1e-9;
}

double of_rank(const SiteFigures& call) {
  return spent(call, Activity::poll) + spent(call, Activity::yield);
}

/// Of what a call's core did, if that is known.
std::string core_ran(const Call& call, Activity activity, int digits, const char* unknown) {
  return call.by_processes ? unknown : fmt::format("{:.{}f}", spent(call.sum, activity), digits);
}

}  // namespace

std::string call_table(const ledger::Figures& figures) {
  std::string text;
  for (const Call& call : by_call(figures)) {
    text += fmt::format("{:>7} {:>9.3f} {:>9.3f} {:>9} {:>9}  {}\n", call.sum.waits,
                        static_cast<double>(call.sum.total_ns) * 1e-9, of_rank(call.sum),
                        core_ran(call, Activity::help, 3, "-"),
                        core_ran(call, Activity::sleep, 3, "-"), call_name(call.sum.call));
  }
  return text.empty() ? text
                      : "  waits     total      rank  core ran  core ran  of all ranks, by call\n"
                        "                s   awake s  others s  nobody s\n" +
                            text;
}

std::string json_calls(const ledger::Figures& figures) {
  std::string text;
  for (const Call& call : by_call(figures)) {
    text += fmt::format(R"({}    {{"call": {}, "waits": {}, "seconds": {:.9f}, "rank": {:.9f}, )"
                        R"("core_others": {}, "core_nobody": {}}})",
                        text.empty() ? "" : ",\n", quoted(call_name(call.sum.call)), call.sum.waits,
                        static_cast<double>(call.sum.total_ns) * 1e-9, of_rank(call.sum),
                        core_ran(call, Activity::help, 9, "null"),
                        core_ran(call, Activity::sleep, 9, "null"));
  }
  return text;
}

}  // namespace meantime::launch
