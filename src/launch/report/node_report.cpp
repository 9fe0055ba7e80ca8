#include "launch/report/node_report.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace meantime::launch {
namespace {

/// Most of the numbers' bytes are zeros: a run of them goes as a zero and its length.
std::string without_zeros(std::string_view bytes) {
  constexpr std::size_t longest = 255;
  std::string text;
  for (std::size_t place = 0; place < bytes.size();) {
    std::size_t run = 0;
    while (run < longest && place + run < bytes.size() && bytes[place + run] == 0) {
      ++run;
    }
    text += bytes[place];
    if (run != 0) {
      text += static_cast<char>(run);
    }
    place += run != 0 ? run : 1;
  }
  return text;
}

std::string with_zeros(std::string_view text) {
  std::string bytes;
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (text[place] != 0) {
      bytes += text[place];
    } else if (++place < text.size()) {
      bytes.append(static_cast<unsigned char>(text[place]), '\0');
    }
  }
  return bytes;
}

struct Name {
  CodeAddress address;
  SourceLocation location;
};

struct RankReport {
  int rank = 0;
  double cpu_seconds = -1;
  std::string way_to_wait;
  std::string energy_policy;
  ledger::RankFigures figures;
};

struct NodeReport {
  std::string name;
  int workers = 0;
  JobTimes times;
  std::string energy_handler;
  std::vector<std::string> notes;
  std::vector<RankReport> ranks;
  std::vector<Name> names;
};

// What each has, for one who writes as for one who reads.

template <class Way>
void fields(Way& way, Name& name) {
  way(name.address.file, name.address.offset, name.location.function, name.location.source,
      name.location.text);
}

template <class Way>
void fields(Way& way, ledger::SiteFigures& site) {
  way(static_cast<ledger::SiteNumbers&>(site), site.location, site.file);
}

template <class Way>
void fields(Way& way, ledger::ChangeFigures& change) {
  way(change.by, change.what, change.value);
}

template <class Way>
void fields(Way& way, RankReport& rank) {
  way(rank.rank, rank.cpu_seconds, rank.way_to_wait, rank.energy_policy,
      static_cast<ledger::RankNumbers&>(rank.figures), rank.figures.sites, rank.figures.changes);
}

template <class Way>
void fields(Way& way, NodeReport& node) {
  way(node.name, node.workers, node.times.wall_seconds, node.times.allocated_seconds,
      node.times.cpu_seconds, node.times.others_seconds, node.times.ended_early, node.times.joules,
      node.times.energy_source, node.energy_handler, node.notes, node.ranks, node.names);
}

class Packer {
 public:
  template <class... Values>
  void operator()(Values&... values) {
    (put(values), ...);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class T>
  void put(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      fields(*this, value);
    }
  }
  void put(std::string& text) {
    std::size_t size = text.size();
    put(size);
    text_ += text;
  }
  template <class T>
  void put(std::vector<T>& list) {
    std::size_t size = list.size();
    put(size);
    for (T& item : list) {
      put(item);
    }
  }

  std::string text_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : text_(text) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  [[nodiscard]] bool complete() const { return complete_ && text_.empty(); }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (const std::string_view bytes = take(sizeof value); !bytes.empty()) {
        std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
      }
    } else {
      fields(*this, value);
    }
  }
  void get(std::string& text) {
    std::size_t size = 0;
    get(size);
    text = take(size);
  }
  template <class T>
  void get(std::vector<T>& list) {
    std::size_t size = 0;
    get(size);
    for (std::size_t item = 0; item < size && complete_; ++item) {
      get(list.emplace_back());
    }
  }
  std::string_view take(std::size_t size) {
    complete_ = complete_ && size <= text_.size();
    const std::string_view bytes = complete_ ? text_.substr(0, size) : std::string_view();
    text_.remove_prefix(bytes.size());
    return bytes;
  }

  std::string_view text_;
  bool complete_ = true;
};

}  // namespace

std::string packed_report(const Job& job, const JobFigures& figures, const JobTimes& times) {
  NodeReport node{
      job.node_name, job.cpus.workers, times, figures.ledger.energy_handler, job.notes, {}, {}};
  for (std::size_t rank = 0; rank < figures.ledger.ranks.size(); ++rank) {
    const RankProcess& process = job.ranks[rank];
    if (!process.elsewhere) {
      node.ranks.push_back({static_cast<int>(rank), process.cpu_seconds, process.way_to_wait,
                            process.energy_policy, figures.ledger.ranks[rank]});
    }
  }
  for (const auto& [address, location] : figures.names) {
    node.names.push_back({address, location});
  }
  Packer packer;
  fields(packer, node);
  return without_zeros(packer.text());
}

bool add_report(std::string_view packed, Job& job, JobFigures& figures, JobTimes& times) {
  const std::string text = with_zeros(packed);
  Unpacker unpacker(text);
  NodeReport node;
  fields(unpacker, node);
  const auto is_of_job = [&](const RankReport& rank) {
    return rank.rank >= 0 && rank.rank < static_cast<int>(job.ranks.size()) &&
           !job.ranks[static_cast<std::size_t>(rank.rank)].is_told_of();
  };
  if (!unpacker.complete() || !std::all_of(node.ranks.begin(), node.ranks.end(), is_of_job)) {
    return false;
  }
  for (RankReport& rank : node.ranks) {
    RankProcess& process = job.ranks[static_cast<std::size_t>(rank.rank)];
    process.host_name = node.name;
    process.cpu_seconds = rank.cpu_seconds;
    process.way_to_wait = rank.way_to_wait;
    process.energy_policy = rank.energy_policy;
    figures.ledger.ranks[static_cast<std::size_t>(rank.rank)] = std::move(rank.figures);
  }
  for (Name& name : node.names) {
    figures.names.try_emplace(name.address, std::move(name.location));
  }
  for (const std::string& note : node.notes) {
    if (std::find(job.notes.begin(), job.notes.end(), note) == job.notes.end()) {
      job.notes.push_back(note);
    }
  }
  if (figures.ledger.energy_handler.empty()) {
    figures.ledger.energy_handler = node.energy_handler;
  }
  job.cpus.workers += node.workers;
  times.wall_seconds = std::max(times.wall_seconds, node.times.wall_seconds);
  times.allocated_seconds += node.times.allocated_seconds;
  times.cpu_seconds += node.times.cpu_seconds;
  times.others_seconds = times.others_seconds && node.times.others_seconds
                             ? std::optional(*times.others_seconds + *node.times.others_seconds)
                             : std::nullopt;
  times.ended_early = times.ended_early || node.times.ended_early;
  if (times.joules >= 0 && node.times.joules < 0) {  // of some nodes it would be no one's figure
    times.energy_source = node.name + ": " + node.times.energy_source;
  }
  times.joules =
      times.joules >= 0 && node.times.joules >= 0 ? times.joules + node.times.joules : -1;
  return true;
}

}  // namespace meantime::launch
