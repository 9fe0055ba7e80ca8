#include "ledger/reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

#include "base/clock.h"
#include "ledger/histogram.h"
#include "ledger/kernel_account.h"
#include "ledger/prorate.h"
#include "node/segment.h"
#include "node/words.h"

namespace meantime::ledger {

static_assert(std::extent_v<decltype(node::WorkerAccount::spent_ns)> == doings);
static_assert(std::extent_v<decltype(node::Account::spent_ns)> == activities);

namespace {

template <class T>
T value(const std::atomic<T>& place) {
  return place.load(std::memory_order_relaxed);
}

SiteFigures figures_of(const node::Segment& segment, const SiteAccount& account) {
  SiteFigures site;
  const node::Link file = value(account.file);
  if (value(account.named) != 0) {
    site.location = file != 0 ? segment.at<char>(file) : "?";
  } else if (file != 0) {
    site.file = segment.at<char>(file);
    site.offset = value(account.offset);
  } else {
    site.offset = value(account.address);
  }
  site.call = static_cast<std::uint16_t>(value(account.call));
  site.waits = value(account.waits);
  site.total_ns = value(account.total_ns);
  site.longest_ns = value(account.longest_ns);
  site.predictions = value(account.predictions);
  site.late = value(account.late);
  site.vain = value(account.vain);
  site.error_ns = value(account.error_ns);
  for (int activity = 0; activity < activities; ++activity) {
    site.spent_ns[activity] = value(account.spent_ns[activity]);
  }
  for (int bucket = 0; bucket < histogram_buckets; ++bucket) {
    site.histogram[bucket] = value(account.histogram[bucket]);
  }
  return site;
}

/// The wait that a rank was in when it ended, or was ended: it has charged nobody for that one. Not
/// of tests that nap, whose report counts from the first one.
struct LastWait {
  std::uint64_t ns = 0;
  std::uint64_t address = 0;
  std::string location;
  std::uint16_t call = 0;
  Activity activity = Activity::poll;

  LastWait(const node::RankArea& area, std::uint64_t most_ns) {
    const node::Report& report = area.report;
    if (report.state.load(std::memory_order_acquire) !=
            static_cast<std::uint32_t>(node::RankState::waiting) ||
        value(area.napping) != 0) {
      return;
    }
    const std::uint64_t since = value(report.since_ns);
    const std::uint64_t now = now_ns();
    ns = now > since ? std::min(now - since, most_ns) : 0;
    address = value(report.call_site);
    location = node::read_words(report.location);
    call = static_cast<std::uint16_t>(value(report.call));
    if (value(area.asleep) != 0 || value(area.worker) != 0) {
      activity = Activity::sleep;
    }
  }
  /// (The report has as much of a long location as goes in.)
  bool was_at(const SiteFigures& site, std::uint64_t its_address) const {
    return ns != 0 && site.call == call &&
           (location.empty() ? site.location.empty() && its_address == address
                             : site.location.substr(0, sizeof node::Report::location) == location);
  }
  /// Into the sums of a rank, or of the site that it was at.
  template <class Figures>
  void add_to(Figures& figures, std::uint64_t& total_ns) const {
    figures.waits += 1;
    total_ns += ns;
    figures.spent_ns[static_cast<int>(activity)] += ns;
  }
};

void read_changes(const node::Segment& segment, const node::RankArea& area, RankFigures& rank) {
  const node::Link link = area.changes.load(std::memory_order_acquire);
  if (link == 0) {
    return;
  }
  const auto& page = *segment.at<ChangePage>(link);
  const std::uint32_t used = page.used.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < used; ++index) {
    const std::string text = page.change[index].text;
    const std::size_t equals = text.find('=');
    rank.changes.push_back({page.change[index].by, text.substr(0, equals),
                            equals == std::string::npos ? "" : text.substr(equals + 1)});
  }
  rank.changes_left_out = value(page.left_out);
}

GuestFigures figures_of(const node::GuestWork& work) {
  return {value(work.slices),   value(work.ns),    value(work.longest_ns),
          value(work.too_long), value(work.units), value(work.in_slice) != 0};
}

WorkerFigures figures_of(const node::WorkerAccount& account, std::uint64_t now) {
  WorkerFigures worker;
  worker.number = static_cast<int>(value(account.number));
  const std::uint64_t began = account.began_ns.load(std::memory_order_acquire);
  const std::uint64_t ended = account.ended_ns.load(std::memory_order_acquire);
  if (began == 0) {
    return worker;
  }
  worker.ended = ended != 0;
  worker.wall_ns = (worker.ended ? ended : now) - began;
  for (int doing = 0; doing < doings; ++doing) {
    worker.spent_ns[doing] = value(account.spent_ns[doing]);
  }
  const std::uint32_t doing = value(account.doing);  // what a program has trampled on may be any
  if (const std::uint64_t since = value(account.since_ns);
      !worker.ended && now > since && doing < doings) {
    worker.spent_ns[doing] += now - since;
  }
  worker.held_up_ns = value(account.held_up_ns);
  worker.guest = figures_of(account.guest_work);
  worker.cpu_ns = value(account.cpu_ns);
  worker.cpu_ns -= std::min(worker.cpu_ns, worker.guest.ns);
  worker.preempted_ns = told(account.preempted_ns);
  return worker;
}

/// Those that ranks began on or are on, and the others of their hosts. Sorted by number; returns
/// where each is.
std::map<node::Link, int> read_workers(const node::Segment& segment, int ranks,
                                       std::vector<WorkerFigures>& figures) {
  struct Found {
    node::Link link;
    WorkerFigures figures;
  };
  std::vector<Found> all;
  std::set<node::Link> seen;
  const std::uint64_t now = now_ns();
  for (int rank = 0; rank < ranks; ++rank) {
    const node::RankArea& area = segment.area(rank);
    for (node::Link link : {value(area.home), value(area.worker)}) {
      // Each place leads to the next one of its host, around.
      while (link != 0 && seen.insert(link).second) {
        const auto& place = *segment.at<node::WorkerPlace>(link);
        all.push_back({link, figures_of(place.account, now)});
        all.back().figures.host = value(area.host);
        link = place.bell.next_prober;
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Found& one, const Found& other) {
    return one.figures.number < other.figures.number;
  });
  std::map<node::Link, int> places;
  for (Found& each : all) {
    places.emplace(each.link, static_cast<int>(figures.size()));
    figures.push_back(each.figures);
  }
  return places;
}

RankFigures figures_of(const node::Segment& segment, const node::RankArea& area) {
  RankFigures rank;
  const node::Account& account = area.account;
  const std::uint64_t began = value(account.began_ns);
  const std::uint64_t ended = account.ended_ns.load(std::memory_order_acquire);
  rank.in_mpi = began != 0;
  if (!rank.in_mpi) {
    return rank;
  }
  rank.wall_ns = (ended != 0 ? ended : now_ns()) - began;
  rank.wait_ns = value(account.wait_ns);
  rank.waits = value(account.waits);
  rank.parks = value(account.parks);
  rank.signalled_in_vain = value(account.signalled_in_vain);
  rank.held_up_ns = value(account.held_up_ns);
  rank.offloaded_ns = value(account.offloaded_ns);
  rank.offloaded_cpu_ns = value(account.offloaded_cpu_ns);
  rank.helped_messages = value(account.helped_messages);
  rank.helped_bytes = value(account.helped_bytes);
  rank.helper_cpu_ns = value(account.helper_cpu_ns);
  rank.carried_messages = value(account.carried_messages);
  rank.carried_bytes = value(account.carried_bytes);
  rank.carried_far = value(account.carried_far);
  rank.strangers = value(account.strangers);
  rank.guest = figures_of(account.guest_work);
  if (ended != 0) {
    rank.cpu_ns = value(account.cpu_ns);
    rank.cpu_ns -= std::min(rank.cpu_ns, rank.guest.ns);
    rank.preempted_ns = told(account.preempted_ns);
  }
  for (int activity = 0; activity < activities; ++activity) {
    rank.spent_ns[activity] = value(account.spent_ns[activity]);
  }
  const LastWait last(area, rank.wall_ns > rank.wait_ns ? rank.wall_ns - rank.wait_ns : 0);
  if (last.ns != 0) {
    last.add_to(rank, rank.wait_ns);
  }
  const auto add_last = [&](SiteFigures& site) {
    last.add_to(site, site.total_ns);
    site.longest_ns = std::max(site.longest_ns, last.ns);
    ++site.histogram[static_cast<std::size_t>(bucket_of(last.ns))];
  };
  bool is_known = false;  // where it was
  for (node::Link link = area.ledger.load(std::memory_order_acquire); link != 0;) {
    const auto& page = *segment.at<SitePage>(link);
    const std::uint32_t used = page.used.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < used; ++index) {
      SiteFigures site = figures_of(segment, page.site[index]);
      if (!is_known && last.was_at(site, value(page.site[index].address))) {
        add_last(site);
        is_known = true;
      }
      if (site.waits != 0) {
        rank.sites.push_back(site);
      }
    }
    link = value(page.next);
  }
  if (last.ns != 0 && !last.location.empty() && !is_known) {  // its first one there
    SiteFigures site;
    site.location = last.location;
    site.call = last.call;
    add_last(site);
    rank.sites.push_back(site);
  }
  read_changes(segment, area, rank);
  return rank;
}

}  // namespace

void SiteFigures::add(const SiteFigures& other) {
  waits += other.waits;
  total_ns += other.total_ns;
  longest_ns = std::max(longest_ns, other.longest_ns);
  predictions += other.predictions;
  late += other.late;
  vain += other.vain;
  error_ns += other.error_ns;
  for (int activity = 0; activity < activities; ++activity) {
    spent_ns[activity] += other.spent_ns[activity];
  }
  for (int bucket = 0; bucket < histogram_buckets; ++bucket) {
    histogram[bucket] += other.histogram[bucket];
  }
}

std::uint64_t WorkerFigures::idle_cpu_ns() const {
  const std::uint64_t looked = spent(Doing::poll) + spent(Doing::yield);
  return std::min(cpu_ns, looked - std::min(looked, held_up_ns));
}

Figures read(const node::Segment& segment) {
  Figures figures;
  if (const node::Link path = value(segment.header().energy_handler); path != 0) {
    figures.energy_handler = segment.at<char>(path);
  }
  const auto ranks = static_cast<int>(segment.header().ranks);
  const std::map<node::Link, int> workers = read_workers(segment, ranks, figures.workers);
  for (int rank = 0; rank < ranks; ++rank) {
    const node::RankArea& area = segment.area(rank);
    figures.ranks.push_back(figures_of(segment, area));
    // A host may have been killed between the two, which may also change meanwhile.
    const auto home = workers.find(value(area.home));
    const auto worker = workers.find(value(area.worker));
    if (home != workers.end()) {
      figures.ranks.back().home = home->second;
      figures.ranks.back().worker = worker != workers.end() ? worker->second : home->second;
    }
  }
  prorate(figures);
  return figures;
}

}  // namespace meantime::ledger
