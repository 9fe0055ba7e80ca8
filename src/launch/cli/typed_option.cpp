#include "launch/cli/typed_option.h"

#include <fmt/format.h>

#include <optional>

#include "launch/cli/option_values.h"
#include "settings/shown.h"

namespace meantime::launch {

using settings::shown;

TypedOption read_option(const std::vector<std::string>& words, std::size_t& position) {
  std::string spelled = words[position++];
  std::string name = spelled.substr(spelled.starts_with("--") ? 2 : 1);
  std::optional<std::string> attached;
  if (std::size_t equals = name.find('='); equals != std::string::npos) {
    attached = name.substr(equals + 1);
    name.resize(equals);
    spelled.resize(spelled.find('='));
  }
  const Option* option = find_option(name);
  // "-n4" and "-np4", as many people type it.
  if (option == nullptr && !attached && !spelled.starts_with("--")) {
    std::size_t digits = name.find_first_of("0123456789");
    if (digits != std::string::npos && digits > 0 &&
        (name.substr(0, digits) == "n" || name.substr(0, digits) == "np" ||
         name.substr(0, digits) == "c")) {
      attached = name.substr(digits);
      option = find_option("n");
    }
  }
  if (option == nullptr) {
    std::string near = nearest_option(name);
    throw Mistake{fmt::format(
        "unknown option '{}'{}", shown(spelled),
        near.empty() ? " (mpiexec --help lists them)" : fmt::format("; did you mean {}?", near))};
  }
  std::vector<std::string> arguments;
  if (attached && attached->empty() && option->action == Action::ledger_report) {
    throw Mistake{fmt::format("{}= wants a file's name; without '=' a table is printed", spelled)};
  }
  if (attached && (option->arguments > 0 || option->action == Action::ledger_report)) {
    arguments.push_back(*attached);
  } else if (attached && option->action != Action::ignore && option->action != Action::refuse) {
    throw Mistake{fmt::format("{} takes no value, not '{}'", spelled, shown(*attached))};
  }
  bool one_word =
      option->action == Action::set_for_all || option->action == Action::set_for_program;
  if (one_word && !attached && position < words.size() &&
      words[position].find('=') != std::string::npos) {
    arguments.push_back(words[position++]);  // -genv NAME=VALUE
  }
  while (arguments.size() < static_cast<std::size_t>(option->arguments) &&
         !(one_word && !arguments.empty() && arguments[0].find('=') != std::string::npos)) {
    if (position == words.size()) {
      throw Mistake{fmt::format("{} wants {}", spelled,
                                option->arguments == 1 ? "a value" : "a name and a value")};
    }
    arguments.push_back(words[position++]);
  }
  arguments.resize(2);
  return {option, spelled, arguments};
}

}  // namespace meantime::launch
