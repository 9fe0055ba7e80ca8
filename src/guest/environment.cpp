#include "guest/environment.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace meantime::guest {
namespace {

constexpr std::string_view kept[] = {"PATH",  "HOME", "USER", "LOGNAME",
                                     "SHELL", "LANG", "TZ",   "TMPDIR"};

}  // namespace

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view line = *variable;
    const std::string_view name = line.substr(0, line.find('='));
    if (name.starts_with("LC_") ||
        std::find(std::begin(kept), std::end(kept), name) != std::end(kept)) {
      variables.emplace_back(line);
    }
  }
  return variables;
}

}  // namespace meantime::guest
