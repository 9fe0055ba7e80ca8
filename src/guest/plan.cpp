#include "guest/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

namespace meantime::guest {
namespace {

template <class Number>
bool read(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [place, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && place == end;
}

/// "0,1:2,3"
bool read(std::string_view text, std::vector<std::vector<int>>& lists) {
  while (!text.empty()) {
    std::string_view list = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(list.size() + 1, text.size()));
    std::vector<int>& numbers = lists.emplace_back();
    while (!list.empty()) {
      const std::string_view number = list.substr(0, list.find(','));
      list.remove_prefix(std::min(number.size() + 1, list.size()));
      if (!read(number, numbers.emplace_back())) {
        return false;
      }
    }
  }
  return !lists.empty();
}

}  // namespace

std::vector<std::string> Plan::words() const {
  std::string lists;
  for (const std::vector<int>& list : cpus) {
    lists += fmt::format("{}{}", lists.empty() ? "" : ":", fmt::join(list, ","));
  }
  std::vector<std::string> words = {
      "meantime-guests",
      fmt::format("cpus={}", lists),
      fmt::format("memory={}", memory_bytes),
      fmt::format("processes={}", processes),
      fmt::format("file={}", file_bytes),
      fmt::format("grace_us={}", static_cast<std::uint64_t>(grace_seconds * 1e6)),
      fmt::format("again={}", again ? 1 : 0),
      fmt::format("freeze={}", freeze ? 1 : 0),
      fmt::format("log={}", log_folder),
      fmt::format("detached={}", detached ? 1 : 0)};
  if (control >= 0) {
    words.push_back(fmt::format("control={}", control));
  }
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

bool Plan::set(std::string_view name, std::string_view value) {
  if (name == "log") {
    log_folder = value;
    return true;
  }
  std::uint64_t number = 0;
  if (!read(value, number)) {
    return false;
  }
  const std::pair<std::string_view, std::function<void()>> places[] = {
      {"memory", [&] { memory_bytes = number; }},
      {"processes", [&] { processes = number; }},
      {"file", [&] { file_bytes = number; }},
      {"grace_us", [&] { grace_seconds = static_cast<double>(number) * 1e-6; }},
      {"again", [&] { again = number != 0; }},
      {"freeze", [&] { freeze = number != 0; }},
      {"detached", [&] { detached = number != 0; }},
      {"control", [&] { control = static_cast<int>(number); }}};
  for (const auto& [known, put] : places) {
    if (known == name) {
      put();
      return true;
    }
  }
  return false;
}

std::optional<Plan> Plan::of(int count, char** words) {
  Plan plan;
  int next = 1;
  for (; next < count && std::string_view(words[next]) != "--"; ++next) {
    const std::string_view word = words[next];
    const std::string_view name = word.substr(0, word.find('='));
    const std::string_view value = word.substr(std::min(name.size() + 1, word.size()));
    if (name == "cpus" ? !read(value, plan.cpus) : !plan.set(name, value)) {
      return std::nullopt;
    }
  }
  plan.command.assign(words + std::min(next + 1, count), words + count);
  return plan.command.size() < 2 || plan.cpus.empty() || plan.control < 0 ? std::nullopt
                                                                          : std::optional(plan);
}

}  // namespace meantime::guest
