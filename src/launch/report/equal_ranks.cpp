#include "launch/report/equal_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

namespace meantime::launch {
namespace {

constexpr std::string_view before_rank = "  rank ";
constexpr std::string_view before_seconds = "for ";
constexpr std::string_view after_seconds = " s";

/// Of the text at `from` the length of "12.3" before " s"; 0 if there is none.
std::size_t seconds_at(std::string_view text, std::size_t from) {
  const std::size_t end = text.find_first_not_of("0123456789.", from);
  return end != std::string_view::npos && end > from && text.substr(end).starts_with(after_seconds)
             ? end - from
             : 0;
}

/// What a rank does, apart from for how long.
struct Doing {
  std::string words;                   ///< with nothing in the place of each time
  std::vector<std::string> durations;  ///< in seconds, as they are written
};

Doing read_doing(std::string_view text) {
  Doing doing;
  std::size_t done = 0;
  for (std::size_t at = text.find(before_seconds); at != std::string_view::npos;
       at = text.find(before_seconds, at + 1)) {
    const std::size_t from = at + before_seconds.size();
    if (const std::size_t length = seconds_at(text, from); length != 0) {
      doing.words.append(text.substr(done, from - done)).append(1, '\0');
      doing.durations.emplace_back(text.substr(from, length));
      done = from + length;
    }
  }
  doing.words.append(text.substr(done));
  return doing;
}

struct Group {
  std::vector<std::size_t> ranks;
  std::string line;  ///< of the first
  std::vector<std::pair<double, double>> durations;
};

/// Adds the ranks' times to those of the others.
void add(Group& group, std::size_t rank, const Doing& doing) {
  group.ranks.push_back(rank);
  for (std::size_t index = 0; index < doing.durations.size(); ++index) {
    const double seconds = std::strtod(doing.durations[index].c_str(), nullptr);
    if (index == group.durations.size()) {
      group.durations.emplace_back(seconds, seconds);
    }
    auto& [least, most] = group.durations[index];
    least = std::min(least, seconds);
    most = std::max(most, seconds);
  }
}

std::string line_of(const Group& group, std::string words) {
  if (group.ranks.size() == 1) {
    return group.line;
  }
  for (const auto& [least, most] : group.durations) {
    words.replace(words.find('\0'), 1,
                  least == most ? fmt::format("{:.1f}", least)
                                : fmt::format("{:.1f} to {:.1f}", least, most));
  }
  return fmt::format("  ranks {}: each {}", list_of_ranks(group.ranks), words);
}

}  // namespace

std::string list_of_ranks(const std::vector<std::size_t>& ranks) {
  constexpr std::size_t most_pieces = 8;
  std::vector<std::string> pieces;
  std::size_t index = 0;
  while (index < ranks.size() && pieces.size() < most_pieces) {
    std::size_t last = index;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    pieces.push_back(last == index ? fmt::to_string(ranks[index])
                                   : fmt::format("{}-{}", ranks[index], ranks[last]));
    index = last + 1;
  }
  return fmt::format("{}{}", fmt::join(pieces, ", "),
                     index < ranks.size() ? fmt::format(" and {} more", ranks.size() - index) : "");
}

std::string with_equal_ranks_together(const std::string& text) {
  std::vector<std::string> lines;       // or the words of a group
  std::map<std::string, Group> groups;  // by their words
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    std::size_t rank = 0;
    const char* const end = line.data() + line.size();
    const char* after = end;
    if (line.starts_with(before_rank)) {
      after = std::from_chars(line.data() + before_rank.size(), end, rank).ptr;
    }
    std::string_view rest(after, static_cast<std::size_t>(end - after));
    if (rest.starts_with(" (pid ")) {
      rest.remove_prefix(std::min(rest.find(')') + 1, rest.size()));
    }
    if (!rest.starts_with(' ')) {
      lines.push_back(line);
      continue;
    }
    const Doing doing = read_doing(rest.substr(1));
    const auto [place, is_new] = groups.try_emplace(doing.words, Group{{}, line, {}});
    add(place->second, rank, doing);
    if (is_new) {
      lines.push_back(doing.words);
    }
  }
  std::string result;
  for (const std::string& line : lines) {
    const auto group = groups.find(line);
    result += (&line == lines.data() ? "" : "\n") +
              (group == groups.end() ? line : line_of(group->second, group->first));
  }
  return text.ends_with('\n') ? result + '\n' : result;
}

}  // namespace meantime::launch
