#include "launch/cli/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "launch/cli/option_values.h"
#include "launch/messages.h"
#include "settings/shown.h"
#include "settings/text_file.h"

namespace meantime::launch {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view without_blanks_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

/// What follows "slots =" among the words after the host's name.
std::optional<std::string_view> after_slots(std::string_view words) {
  constexpr std::string_view name = "slots";
  for (std::size_t at = words.find(name); at != std::string_view::npos;
       at = words.find(name, at + 1)) {
    const bool whole = at > 0 && blanks.find(words[at - 1]) != std::string_view::npos;
    const std::string_view rest = without_blanks_before(words.substr(at + name.size()));
    if (whole && rest.starts_with('=')) {
      return without_blanks_before(rest.substr(1));
    }
  }
  return std::nullopt;
}

/// "node1:4", "node1 slots=4" or "node1 slots = 4 max_slots=8".
struct Host {
  std::string_view name;
  std::optional<std::string_view> slots;  ///< their number, and perhaps words behind it
};

Host host_of(std::string_view text) {
  text = without_blanks_before(text);
  const std::size_t end = std::min(text.find_first_of(blanks), text.size());
  Host host{text.substr(0, end), after_slots(text.substr(end))};
  // "[fe80::1]:4", "node1:4"; with several colons it is an address of IPv6.
  const bool bracketed =
      host.name.starts_with('[') && host.name.find(']') != std::string_view::npos;
  const std::size_t name_end = bracketed ? host.name.find(']') + 1 : host.name.find(':');
  const std::string_view rest = host.name.substr(std::min(name_end, host.name.size()));
  if (rest.starts_with(':') && (bracketed || rest.find(':', 1) == std::string_view::npos)) {
    host.slots = host.slots.value_or(rest.substr(1));
    host.name = host.name.substr(0, name_end);
  }
  if (bracketed) {
    host.name = host.name.substr(1, name_end - 2);
  }
  return host;
}

void add(std::vector<NodeRequest>& nodes, const NodeRequest& more) {
  const auto same = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const NodeRequest& node) { return node.name == more.name; });
  if (same == nodes.end()) {
    nodes.push_back(more);
  } else {
    same->slots = std::min(same->slots + more.slots, most_slots);
  }
}

/// `text` has it, for whoever reads what is wrong.
int number_of_slots(std::string_view option, std::string_view text, std::string_view slots) {
  const std::string_view word = slots.substr(0, slots.find_first_of(blanks));
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc::result_out_of_range) {
    throw Mistake{fmt::format("{}: '{}': no job has so many ranks", option, settings::shown(text))};
  }
  if (error != std::errc() || end != word.data() + word.size() || number < 1) {
    throw Mistake{
        fmt::format("{}: '{}' wants a number of slots from 1 on", option, settings::shown(text))};
  }
  return std::min(number, most_slots);
}

void add_host(std::vector<NodeRequest>& nodes, std::string_view option, std::string_view text) {
  const Host host = host_of(text);
  // It becomes a word of the remote shell's command line.
  if (host.name.empty() || host.name.starts_with('-') ||
      host.name.find('\0') != std::string_view::npos) {
    throw Mistake{fmt::format("{}: '{}' is no host's name", option, settings::shown(text))};
  }
  add(nodes, {std::string(host.name), host.slots ? number_of_slots(option, text, *host.slots) : 1});
}

}  // namespace

bool is_this_machine(std::string_view host) {
  const std::string own = host_name();
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == own ||
         host == "localhost.localdomain" || host == std::string_view(own).substr(0, own.find('.'));
}

void add_nodes(std::vector<NodeRequest>& nodes, const std::vector<NodeRequest>& more) {
  for (const NodeRequest& node : more) {
    add(nodes, node);
  }
}

int slots_of(const std::vector<NodeRequest>& nodes) {
  int slots = 0;
  for (const NodeRequest& node : nodes) {
    slots = std::min(slots + node.slots, most_slots);
  }
  return slots;
}

std::vector<NodeRequest> nodes_of_list(std::string_view option, const std::string& list) {
  std::vector<NodeRequest> nodes;
  std::stringstream hosts(list);
  for (std::string host; std::getline(hosts, host, ',');) {
    if (!without_blanks_before(host).empty()) {
      add_host(nodes, option, host);
    }
  }
  if (nodes.empty()) {
    throw Mistake{fmt::format("{}: '{}' names no host", option, settings::shown(list))};
  }
  return nodes;
}

std::vector<NodeRequest> nodes_of_file(std::string_view option, const std::string& path) {
  std::string text;
  if (const std::string why = settings::read_text_file(path, &text); !why.empty()) {
    throw Mistake{fmt::format("{}: cannot read '{}': {}", option, settings::shown_path(path), why)};
  }
  std::vector<NodeRequest> nodes;
  std::istringstream file(text);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin != std::string::npos && line[begin] != '#') {
      add_host(nodes, option, line.substr(begin, line.find('#') - begin));
    }
  }
  if (nodes.empty()) {
    throw Mistake{fmt::format("{}: '{}' names no host", option, settings::shown_path(path))};
  }
  return nodes;
}

}  // namespace meantime::launch
