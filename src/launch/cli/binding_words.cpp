#include "launch/cli/binding_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "launch/cli/option_values.h"
#include "launch/start/cpus.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// More CPUs than the kernel's masks have here cannot be meant.
constexpr int most_places = 1024;

/// One more than there are separators; also empty ones.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == separator) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

std::string lower_case(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return word;
}

std::optional<int> number(std::string_view word) {
  int value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

/// "1,0+2": the CPUs of rank 0, then those of rank 1.
std::vector<std::vector<int>> parse_list(std::string_view option, const std::string& list) {
  std::vector<std::vector<int>> ranks;
  for (const std::string& element : split(list, ',')) {
    std::vector<int>& cpus = ranks.emplace_back();
    for (const std::string& word : split(element, '+')) {
      if (word.empty()) {
        throw Mistake{fmt::format(
            "{} user:LIST wants a CPU or several (0+1) for each rank, separated by ',', not '{}'",
            option, settings::shown(list))};
      }
      const std::optional<int> cpu = number(word);
      if (!cpu || *cpu >= most_places) {
        throw Mistake{fmt::format("{} user:{}: '{}' is no CPU's number", option,
                                  settings::shown(list), settings::shown(word))};
      }
      cpus.push_back(*cpu);
    }
  }
  return ranks;
}

Binding binding_of(std::string_view option, const std::string& word) {
  for (Binding binding :
       {Binding::none, Binding::hwthread, Binding::core, Binding::numa, Binding::socket}) {
    if (word == binding_name(binding)) {
      return binding;
    }
  }
  if (word == "package") {
    return Binding::socket;
  }
  if (word == "rr") {
    return Binding::hwthread;
  }
  if (word == "machine") {
    return Binding::none;
  }
  throw Mistake{fmt::format("{} takes none, hwthread, core, numa, socket or user:LIST, not '{}'",
                            option, settings::shown(word))};
}

}  // namespace

void read_binding(std::string_view option, const std::string& word, CommandLine& command) {
  // All that an earlier one has said is gone.
  command.binding_option = option;
  command.binding_list.clear();
  command.places_of_binding = 0;
  const std::size_t colon = std::min(word.find(':'), word.size());
  const std::string name = word.substr(0, colon);
  const std::string qualifier = colon < word.size() ? word.substr(colon + 1) : std::string();
  if (name == "user") {
    command.binding = Binding::user;
    command.binding_list = parse_list(option, qualifier);
    return;
  }
  command.binding = binding_of(option, name);
  // MPICH's core:2; a word is a qualifier of Open MPI: core:overload-allowed.
  if (colon < word.size() &&
      (qualifier.empty() || std::isalpha(static_cast<unsigned char>(qualifier[0])) == 0)) {
    command.places_of_binding = parse_places(option, qualifier);
  }
}

int parse_places(std::string_view option, const std::string& word) {
  const std::optional<int> places = number(word);
  if (!places || *places < 1 || *places > most_places) {
    throw Mistake{fmt::format("{} wants a number of CPUs from 1 to {} for each rank, not '{}'",
                              option, most_places, settings::shown(word))};
  }
  return *places;
}

std::optional<std::string> ranks_in_mapping(const std::string& word) {
  return lower_case(word.substr(0, 4)) == "ppr:" ? std::optional(word.substr(4)) : std::nullopt;
}

int ranks_of_resource(std::string_view option, const std::string& word) {
  const std::vector<std::string> parts = split(word, ':');
  if (parts.size() < 2) {
    throw Mistake{
        fmt::format("{} wants N:RESOURCE, as in 4:node, not '{}'", option, settings::shown(word))};
  }
  const int each = parse_ranks(option, parts[0]);
  const std::string resource = lower_case(split(parts[1], ',')[0]);
  if (resource == "node") {
    return each;
  }
  CommandLine bound;
  for (const Binding binding : {Binding::hwthread, Binding::core, Binding::numa, Binding::socket}) {
    if (resource == binding_name(binding) ||
        (binding == Binding::socket && resource == "package")) {
      bound.binding = binding;
    }
  }
  std::vector<cpu_set_t> bindings;
  find_bindings(bound, cpu_budget().workers, bindings);
  return static_cast<int>(std::min(each * static_cast<long>(bindings.size()), 1L << 30));
}

std::optional<int> places_in_mapping(std::string_view option, const std::string& word) {
  for (const std::string& part : split(word, ':')) {
    for (const std::string& typed : split(part, ',')) {
      const std::string modifier = lower_case(typed);
      if (modifier.starts_with("pe=")) {
        return parse_places(fmt::format("{} {}", option, settings::shown(word)),
                            modifier.substr(3));
      }
    }
  }
  return std::nullopt;
}

void settle_binding(CommandLine& command) {
  if (command.places_per_rank == 0) {
    command.places_per_rank = command.places_of_binding;
  } else if (command.binding_option.empty()) {
    command.binding = Binding::core;
  } else if (command.binding != Binding::core && command.binding != Binding::hwthread) {
    command.notes.push_back(
        fmt::format("CPUs for each rank (PE, --cpus-per-rank) are ignored beside --bind {}",
                    binding_name(command.binding)));
    command.places_per_rank = command.places_of_binding;
  }
}

}  // namespace meantime::launch
