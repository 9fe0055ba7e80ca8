#include "launch/job_figures.h"

#include <algorithm>

#include "ledger/histogram.h"
#include "node/segment.h"

namespace meantime::launch {

ledger::Figures figures_in(int descriptor) {
  ledger::Figures figures;
  node::Segment segment;
  if (descriptor >= 0 && segment.map(descriptor) == 0) {
    figures = ledger::read(segment);
    segment.unmap();
  }
  return figures;
}

Place place_of(const ledger::SiteFigures& site) {
  return {site.file, site.offset};
}

std::map<Place, PlaceName> names_of(const ledger::Figures& figures) {
  std::vector<Place> places;
  for (const ledger::RankFigures& rank : figures.ranks) {
    for (const ledger::SiteFigures& site : rank.sites) {
      places.push_back(place_of(site));
    }
  }
  return name_places(places);
}

std::uint64_t quantile(const ledger::SiteFigures& site, double q) {
  return std::min(ledger::quantile(site.histogram, q), site.longest_ns);
}

std::optional<double> cpu_time(const ledger::RankFigures& rank, const RankProcess& process) {
  return rank.cpu_ns != 0           ? std::optional(seconds(rank.cpu_ns))
         : process.cpu_seconds >= 0 ? std::optional(process.cpu_seconds)
                                    : std::nullopt;
}

}  // namespace meantime::launch
