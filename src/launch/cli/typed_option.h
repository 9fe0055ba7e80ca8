// An option as people type it: --option=VALUE, -option VALUE, -n4, -genv NAME=VALUE.
#pragma once

#include <string>
#include <vector>

#include "launch/cli/options.h"

namespace meantime::launch {

struct TypedOption {
  const Option* option;
  std::string spelled;                 ///< with its dashes
  std::vector<std::string> arguments;  ///< two; empty where the option has none
};

/// The one at `position`, which is behind it and its values then. Throws a Mistake.
TypedOption read_option(const std::vector<std::string>& words, std::size_t& position);

}  // namespace meantime::launch
