#include "launch/option_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "launch/messages.h"
#include "settings/shown.h"
#include "settings/text_file.h"

namespace meantime::launch {
namespace {

// "node1:4" and "node1 slots=4" name node1; this machine has a few names.
bool is_this_machine(std::string_view host) {
  host = host.substr(0, host.find_first_of(": \t"));
  std::string own = host_name();
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == own ||
         host == "localhost.localdomain" || host == std::string_view(own).substr(0, own.find('.'));
}

}  // namespace

void require_local(std::string_view option, std::string_view host) {
  if (!host.empty() && !is_this_machine(host)) {
    throw Mistake{fmt::format("{} names '{}': jobs of one node only so far; leave the option out",
                              option, settings::shown(host))};
  }
}

void require_local_list(std::string_view option, const std::string& list) {
  std::stringstream hosts(list);
  for (std::string host; std::getline(hosts, host, ',');) {
    require_local(option, host);
  }
}

void require_local_file(std::string_view option, const std::string& path) {
  std::string text;
  if (const std::string why = settings::read_text_file(path, &text); !why.empty()) {
    throw Mistake{fmt::format("{}: cannot read '{}': {}", option, settings::shown_path(path), why)};
  }
  std::istringstream file(text);
  for (std::string line; std::getline(file, line);) {
    std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos && line[begin] != '#') {
      require_local(option, std::string_view(line).substr(begin));
    }
  }
}

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

Binding parse_binding(std::string_view option, std::string word) {
  word = word.substr(0, word.find(':'));  // Open MPI's qualifiers: core:overload-allowed
  for (Binding binding :
       {Binding::none, Binding::hwthread, Binding::core, Binding::numa, Binding::socket}) {
    if (word == binding_name(binding)) {
      return binding;
    }
  }
  if (word == "package") {
    return Binding::socket;
  }
  if (word == "user" || word == "machine" || word == "board" || word == "rr") {
    return word == "rr" ? Binding::hwthread : Binding::none;
  }
  throw Mistake{fmt::format("{} takes none, hwthread, core, numa or socket, not '{}'", option,
                            settings::shown(word))};
}

DeadlockAction parse_deadlock_action(std::string_view option, const std::string& word) {
  if (const std::optional<DeadlockAction> action = deadlock_action(word)) {
    return *action;
  }
  throw Mistake{
      fmt::format("{} takes abort, report or ignore, not '{}'", option, settings::shown(word))};
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
