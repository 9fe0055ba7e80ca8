#include "launch/thread_ranks/map_file.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <string_view>

#include "settings/shown.h"
#include "settings/text_file.h"

namespace meantime::launch {

std::string read_map_file(const std::string& path, int ranks, int worker_count,
                          std::vector<int>& workers) {
  std::string whole;
  if (const std::string why = settings::read_text_file(path, &whole); !why.empty()) {
    return fmt::format("--place file:{}: {}", settings::shown_path(path), why);
  }
  std::istringstream file(whole);
  workers.clear();
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    std::string_view line = text;
    line = line.substr(0, line.find('#'));
    constexpr std::string_view blanks = " \t\r";
    if (line.find_first_not_of(blanks) == std::string_view::npos) {
      continue;
    }
    line.remove_prefix(line.find_first_not_of(blanks));
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    const auto wrong = [&](const std::string& what) {
      return fmt::format("--place: {}, line {}: {}", settings::shown_path(path), number, what);
    };
    int worker = -1;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), worker);
    if (error != std::errc() || end != line.data() + line.size()) {
      return wrong(fmt::format("'{}' is no worker's number", settings::shown(line)));
    }
    if (worker < 0 || worker >= worker_count) {
      return wrong(
          fmt::format("there is no worker {}: they are 0 to {}", worker, worker_count - 1));
    }
    if (static_cast<int>(workers.size()) == ranks) {
      return wrong(fmt::format("one too many, there are {} ranks", ranks));
    }
    workers.push_back(worker);
  }
  if (static_cast<int>(workers.size()) < ranks) {
    return fmt::format("--place: {} ends at line {} with {} of {} ranks",
                       settings::shown_path(path), number, workers.size(), ranks);
  }
  return {};
}

}  // namespace meantime::launch
