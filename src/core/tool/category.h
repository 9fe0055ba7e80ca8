// Categories of the tools interface (MPI 5.0, 15.3.9): a tree with all variables at its leaves.
#pragma once

#include <string_view>
#include <vector>

namespace meantime::tool {

struct Category {
  std::string_view name;
  std::string_view description;
  std::vector<int> control_variables;      ///< indices
  std::vector<int> performance_variables;  ///< indices
  std::vector<int> categories;             ///< those directly below
};

/// Never changes.
const std::vector<Category>& categories();

}  // namespace meantime::tool
