#include "core/tool/category.h"

#include "core/tool/control.h"
#include "core/tool/performance.h"

namespace meantime::tool {
namespace {

using settings::Scope;

std::vector<int> settings_that_are(Scope scope) {
  std::vector<int> found;
  const std::span<const ControlVariable> all = control_variables();
  for (std::size_t index = 0; index < all.size(); ++index) {
    if (all[index].setting->scope == scope) {
      found.push_back(static_cast<int>(index));
    }
  }
  return found;
}

std::vector<int> all_performance_variables() {
  std::vector<int> all(performance_variables().size());
  for (std::size_t index = 0; index < all.size(); ++index) {
    all[index] = static_cast<int>(index);
  }
  return all;
}

}  // namespace

const std::vector<Category>& categories() {
  // Never destroyed: tools may ask at the very end.
  static const auto& all = *new std::vector<Category>{
      {"Meantime", "everything of this MPI implementation", {}, {}, {1, 2, 3}},
      {"Meantime waiting",
       "what a rank does while it waits: settings that may change while it runs, and accounts",
       settings_that_are(Scope::live),
       all_performance_variables(),
       {}},
      {"Meantime start",
       "settings that are read in MPI_Init",
       settings_that_are(Scope::start),
       {},
       {}},
      {"Meantime tests",
       "settings for Meantime's own tests",
       settings_that_are(Scope::test),
       {},
       {}},
  };
  return all;
}

}  // namespace meantime::tool
