#include "launch/report/job_figures.h"

#include <algorithm>
#include <utility>

#include "ledger/histogram.h"
#include "node/segment.h"
#include "settings/shown.h"

namespace meantime::launch {

ledger::Figures figures_in(const Job& job, const std::vector<int>& segments) {
  ledger::Figures all;
  for (std::size_t node = 0; node < segments.size(); ++node) {
    node::Segment segment;
    if (segment.map(segments[node]) != 0) {
      continue;
    }
    ledger::Figures figures = ledger::read(segment);
    segment.unmap();
    if (all.ranks.empty()) {
      all = std::move(figures);
      continue;
    }
    const auto before = static_cast<int>(all.workers.size());
    all.workers.insert(all.workers.end(), figures.workers.begin(), figures.workers.end());
    for (std::size_t rank = 0; rank < all.ranks.size(); ++rank) {
      if (job.ranks[rank].node == static_cast<int>(node)) {
        ledger::RankFigures& moved = all.ranks[rank] = std::move(figures.ranks[rank]);
        moved.worker += moved.worker >= 0 ? before : 0;
        moved.home += moved.home >= 0 ? before : 0;
      }
    }
  }
  return all;
}

namespace {

/// Of a location that has its name already, "solve (script.py:12)", which stands for its file.
constexpr std::uint64_t by_name = ~std::uint64_t{0};

SourceLocation split(const std::string& name) {
  const std::size_t bracket = name.rfind(" (");
  return bracket != std::string::npos && name.ends_with(')')
             ? SourceLocation{name.substr(0, bracket),
                              name.substr(bracket + 2, name.size() - bracket - 3), name}
             : SourceLocation{"", "", name};
}

}  // namespace

CodeAddress address_of(const ledger::SiteFigures& site) {
  return site.location.empty() ? CodeAddress{site.file, site.offset}
                               : CodeAddress{site.location, by_name};
}

std::map<CodeAddress, SourceLocation> names_of(const ledger::Figures& figures) {
  std::vector<CodeAddress> addresses;
  std::map<CodeAddress, SourceLocation> named;
  for (const ledger::RankFigures& rank : figures.ranks) {
    for (const ledger::SiteFigures& site : rank.sites) {
      if (site.location.empty()) {
        addresses.push_back(address_of(site));
      } else {
        named.emplace(address_of(site),
                      split(settings::shown(site.location, settings::any_length)));
      }
    }
  }
  std::map<CodeAddress, SourceLocation> names = symbolize(addresses);
  names.merge(named);
  return names;
}

std::vector<std::size_t> missing_ranks(const Job& job) {
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (!job.ranks[rank].is_told_of()) {
      missing.push_back(rank);
    }
  }
  return missing;
}

std::uint64_t quantile(const ledger::SiteFigures& site, double q) {
  return std::min(ledger::quantile(site.histogram, q), site.longest_ns);
}

std::optional<double> cpu_time(const ledger::RankFigures& rank, const RankProcess& process) {
  return rank.cpu_ns != 0           ? std::optional(seconds(rank.cpu_ns))
         : process.cpu_seconds >= 0 ? std::optional(process.cpu_seconds)
                                    : std::nullopt;
}

double cpu_time_of_ranks(const Job& job, const ledger::Figures& figures) {
  double sum = 0;
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    sum += cpu_time(figures.ranks[rank], job.ranks[rank]).value_or(0);
  }
  return sum;
}

}  // namespace meantime::launch
