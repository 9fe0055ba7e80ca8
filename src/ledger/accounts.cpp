#include "ledger/accounts.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "ledger/histogram.h"
#include "ledger/kernel_account.h"
#include "node/segment.h"

namespace meantime::ledger {
namespace {

/// More pages than any sane program has call sites; a program that makes up code as it runs does
/// not fill the segment.
constexpr int most_pages = 200;

node::Link copy_path(const char* path) {
  node::Segment& segment = node::segment();
  const std::size_t bytes = std::strlen(path) + 1;
  const node::Link place = segment.grow(bytes);
  if (place != 0) {
    std::memcpy(segment.at<char>(place), path, bytes);
  }
  return place;
}

/// The first of the rank's that `is_it(account, its file or "")`, or nullptr.
template <class Predicate>
SiteAccount* find_account(const node::RankArea& area, Predicate&& is_it) {
  node::Segment& segment = node::segment();
  for (node::Link link = area.ledger.load(std::memory_order_relaxed); link != 0;) {
    auto& page = *segment.at<SitePage>(link);
    const auto used = static_cast<int>(page.used.load(std::memory_order_relaxed));
    for (int index = 0; index < used; ++index) {
      const node::Link file = page.site[index].file.load(std::memory_order_relaxed);
      if (is_it(page.site[index], file != 0 ? segment.at<char>(file) : "")) {
        return &page.site[index];
      }
    }
    link = page.next.load(std::memory_order_relaxed);
  }
  return nullptr;
}

/// The path of an earlier site of the same file, or a copy of this one.
node::Link path_in_segment(const node::RankArea& area, const char* path) {
  const SiteAccount* const other = find_account(
      area, [&](const SiteAccount&, const char* file) { return std::strcmp(file, path) == 0; });
  return other != nullptr ? other->file.load(std::memory_order_relaxed) : copy_path(path);
}

/// The program's own file has no name there.
const char* path_of(const link_map& map) {
  static char program[4096];
  if (map.l_name != nullptr && *map.l_name != '\0') {
    return map.l_name;
  }
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  return program;
}

void find_place(const node::RankArea& area, const void* address, SiteAccount& site) {
  Dl_info info{};
  link_map* map = nullptr;
  // One byte back: the call, not what follows it.
  const char* call = static_cast<const char*>(address) - 1;
  if (dladdr1(call, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr) {
    return;
  }
  const char* path = path_of(*map);
  if (*path == '\0') {
    return;
  }
  site.offset.store(reinterpret_cast<std::uint64_t>(call) - map->l_addr, std::memory_order_relaxed);
  site.file.store(path_in_segment(area, path), std::memory_order_relaxed);
}

/// One more, that `fill` makes what it is before anybody sees it; nullptr if it cannot.
template <class Fill>
SiteAccount* open(node::RankArea& area, Fill&& fill) {
  node::Segment& segment = node::segment();
  node::Link newest = area.ledger.load(std::memory_order_relaxed);
  SitePage* page = newest == 0 ? nullptr : segment.at<SitePage>(newest);
  if (page == nullptr || page->used.load(std::memory_order_relaxed) == SitePage::sites) {
    int pages = 0;
    for (node::Link link = newest; link != 0; ++pages) {
      link = segment.at<SitePage>(link)->next.load(std::memory_order_relaxed);
    }
    const node::Link grown = pages < most_pages ? segment.grow(SitePage::bytes) : 0;
    if (grown == 0) {
      return page == nullptr ? nullptr : &page->site[SitePage::sites - 1];
    }
    page = segment.at<SitePage>(grown);
    page->next.store(newest, std::memory_order_relaxed);
    area.ledger.store(grown, std::memory_order_release);
  }
  const std::uint32_t used = page->used.load(std::memory_order_relaxed);
  SiteAccount& site = page->site[used];
  if (!fill(site)) {
    return nullptr;
  }
  page->used.store(used + 1, std::memory_order_release);
  return &site;
}

}  // namespace

SiteAccount* open_account(node::RankArea& area, const void* address, std::uint16_t call) {
  return open(area, [&](SiteAccount& site) {
    site.address.store(reinterpret_cast<std::uint64_t>(address), std::memory_order_relaxed);
    site.call.store(call, std::memory_order_relaxed);
    find_place(area, address, site);
    return true;
  });
}

SiteAccount* account_of_location(node::RankArea& area, const std::string& place,
                                 std::uint16_t call) {
  SiteAccount* const found = find_account(area, [&](const SiteAccount& site, const char* file) {
    return site.named.load(std::memory_order_relaxed) != 0 &&
           site.call.load(std::memory_order_relaxed) == call && place == file;
  });
  return found != nullptr ? found : open(area, [&](SiteAccount& site) {
    const node::Link name = copy_path(place.c_str());
    if (name == 0) {
      return false;  // it would not be found again
    }
    site.named.store(1, std::memory_order_relaxed);
    site.call.store(call, std::memory_order_relaxed);
    site.file.store(name, std::memory_order_relaxed);
    return true;
  });
}

void charge(node::RankArea& area, SiteAccount* site, const Wait& wait, std::uint32_t times) {
  node::Account& account = area.account;
  add(account.waits, std::uint64_t{times});
  add(account.wait_ns, times * wait.ns);
  add(account.held_up_ns, times * wait.held_up_ns);
  for (int activity = 0; activity < activities; ++activity) {
    add(account.spent_ns[activity], times * wait.spent_ns[activity]);
  }
  if (site == nullptr) {
    return;
  }
  add(site->waits, std::uint64_t{times});
  add(site->total_ns, times * wait.ns);
  if (wait.ns > site->longest_ns.load(std::memory_order_relaxed)) {
    site->longest_ns.store(wait.ns, std::memory_order_relaxed);
  }
  for (int activity = 0; activity < activities; ++activity) {
    add(site->spent_ns[activity], times * wait.spent_ns[activity]);
  }
  add(site->histogram[bucket_of(wait.ns)], times);
}

namespace {

/// For how long the calling thread was ready to run and did not, beyond what an account has
/// already: from MPI_Init on, not from the process's start.
std::uint64_t ready_since(std::uint64_t before_ns) {
  const std::optional<std::uint64_t> ready = ready_ns_of(gettid());
  return ready && before_ns != untold_ns ? *ready - std::min(before_ns, *ready) : untold_ns;
}

}  // namespace

void begin_account(node::RankArea& area, bool of_process) {
  area.account.began_ns.store(clock_ns(CLOCK_MONOTONIC), std::memory_order_relaxed);
  if (of_process) {
    area.account.cpu_ns.store(clock_ns(CLOCK_PROCESS_CPUTIME_ID), std::memory_order_relaxed);
    area.account.preempted_ns.store(ready_ns_of(gettid()).value_or(untold_ns),
                                    std::memory_order_relaxed);
  }
}

void go_on_with_account(node::RankArea& area, bool of_process) {
  node::Account& account = area.account;
  account.ended_ns.store(0, std::memory_order_relaxed);
  if (of_process) {
    account.cpu_ns.store(
        clock_ns(CLOCK_PROCESS_CPUTIME_ID) - account.cpu_ns.load(std::memory_order_relaxed),
        std::memory_order_relaxed);
    account.preempted_ns.store(ready_since(account.preempted_ns.load(std::memory_order_relaxed)),
                               std::memory_order_relaxed);
  }
}

void end_account(node::RankArea& area, bool of_process) {
  node::Account& account = area.account;
  if (of_process) {
    account.cpu_ns.store(
        clock_ns(CLOCK_PROCESS_CPUTIME_ID) - account.cpu_ns.load(std::memory_order_relaxed),
        std::memory_order_relaxed);
    account.preempted_ns.store(ready_since(account.preempted_ns.load(std::memory_order_relaxed)),
                               std::memory_order_relaxed);
  }
  account.ended_ns.store(clock_ns(CLOCK_MONOTONIC), std::memory_order_release);
}

}  // namespace meantime::ledger
