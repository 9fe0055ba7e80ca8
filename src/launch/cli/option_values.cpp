#include "launch/cli/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "settings/shown.h"

namespace meantime::launch {
int parse_ranks(std::string_view option, const std::string& word) {
  int ranks = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ranks);
  if (error != std::errc() || end != word.data() + word.size() || ranks < 1) {
    throw Mistake{fmt::format("{} wants a number of ranks from 1 on, not '{}'", option,
                              settings::shown(word))};
  }
  return ranks;
}

double parse_seconds(std::string_view option, const std::string& word) {
  char* end = nullptr;
  double seconds = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0' || !std::isfinite(seconds) || seconds < 0 || seconds > 1e9) {
    throw Mistake{fmt::format("{} wants seconds, not '{}'", option, settings::shown(word))};
  }
  return seconds;
}

RankKind parse_kind(std::string_view option, const std::string& word) {
  if (word == "processes") {
    return RankKind::processes;
  }
  if (word == "threads") {
    return RankKind::threads;
  }
  if (word == "auto") {
    return RankKind::automatic;
  }
  throw Mistake{
      fmt::format("{} takes processes, threads or auto, not '{}'", option, settings::shown(word))};
}

int parse_input_rank(std::string_view option, const std::string& word) {
  if (word == "none") {
    return -1;
  }
  if (word == "all") {
    throw Mistake{fmt::format("{} all: one rank can read standard input, not all", option)};
  }
  int rank = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
  if (error != std::errc() || end != word.data() + word.size() || rank < 0) {
    throw Mistake{fmt::format("{} takes a rank or none, not '{}'", option, settings::shown(word))};
  }
  return rank;
}

DeadlockAction parse_deadlock_action(std::string_view option, const std::string& word) {
  if (const std::optional<DeadlockAction> action = deadlock_action(word)) {
    return *action;
  }
  throw Mistake{
      fmt::format("{} takes abort, report or ignore, not '{}'", option, settings::shown(word))};
}

std::string without_bindings(const std::string& list) {
  std::string rest;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word != "bind" && word != "map") {
      rest += (rest.empty() ? "" : ",") + word;
    }
  }
  return rest;
}

void read_output_files(std::string_view option, const std::string& word, RankOutput& output) {
  const std::size_t colon = word.rfind(':');
  const bool qualified = colon != std::string::npos && word.substr(colon + 1) == "nocopy";
  const std::string folder = qualified ? word.substr(0, colon) : word;
  if (folder.empty()) {
    throw Mistake{fmt::format("{} wants a directory", option)};
  }
  if (!output.folder.empty() && output.folder != folder) {
    throw Mistake{fmt::format("{}: '{}' and '{}' cannot both hold", option,
                              settings::shown(output.folder), settings::shown(folder))};
  }
  output.folder = folder;
  output.shown = !qualified;
}

void read_output_list(std::string_view option, const std::string& list, RankOutput& output) {
  for (std::stringstream words(list); words.good();) {
    std::string word;
    std::getline(words, word, ',');
    const std::size_t value = word.find('=');
    std::string name = word.substr(0, value);
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return std::tolower(c); });
    if (name == "tag" || name == "tag-detailed" || name == "tag-fullname" || name == "rank") {
      output.labelled = true;
    } else if (name == "timestamp") {
      output.timed = true;
    } else if (name == "merge" || name == "merge-stderr-to-stdout") {
      output.merged = true;
    } else if ((name == "dir" || name == "directory") && value != std::string::npos) {
      read_output_files(option, word.substr(value + 1), output);
    } else {
      throw Mistake{fmt::format("{} takes tag, timestamp, merge and dir=DIRECTORY, not '{}'",
                                option, settings::shown(word))};
    }
  }
}

EnvironmentEdit split_assignment(std::string_view option, const std::string& word) {
  std::size_t equals = word.find('=');
  EnvironmentEdit edit{word.substr(0, equals), {}};
  if (edit.name.empty()) {
    throw Mistake{fmt::format("{} wants NAME=VALUE, not '{}'", option, settings::shown(word))};
  }
  edit.value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
  return edit;
}

const char* binding_name(Binding binding) {
  switch (binding) {
    case Binding::none:
      return "none";
    case Binding::hwthread:
      return "hwthread";
    case Binding::core:
      return "core";
    case Binding::numa:
      return "numa";
    case Binding::socket:
      return "socket";
    case Binding::user:
      return "user";
  }
  return "?";
}

const char* deadlock_action_name(DeadlockAction action) {
  switch (action) {
    case DeadlockAction::abort:
      return "abort";
    case DeadlockAction::report:
      return "report";
    case DeadlockAction::ignore:
      return "ignore";
  }
  return "?";
}

std::optional<DeadlockAction> deadlock_action(std::string_view name) {
  for (DeadlockAction action :
       {DeadlockAction::abort, DeadlockAction::report, DeadlockAction::ignore}) {
    if (name == deadlock_action_name(action)) {
      return action;
    }
  }
  return std::nullopt;
}

}  // namespace meantime::launch
