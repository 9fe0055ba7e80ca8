#include "settings/misspelt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "settings/settings.h"
#include "settings/shown.h"

namespace meantime::settings {
namespace {

constexpr std::string_view prefix = "MEANTIME_";

/// What is no setting and has a meaning all the same: the words between mpiexec and its ranks
/// (protocol/control.h), the compiler wrappers', those of Meantime's own tests, and those by which
/// sites say where something is installed.
constexpr std::string_view others[] = {
    "MEANTIME_RANK",
    "MEANTIME_RANK_PID",
    "MEANTIME_TASK",
    "MEANTIME_SIZE",
    "MEANTIME_APPNUM",
    "MEANTIME_SEGMENT_FD",
    "MEANTIME_CONTROL_FD",
    "MEANTIME_LIFELINE_FD",
    "MEANTIME_WORKERS",
    "MEANTIME_WAKE_UP_NS",
    "MEANTIME_LOCKED",
    "MEANTIME_INITIAL_ERRHANDLER",
    "MEANTIME_MEMORY_ALLOC_KINDS",
    "MEANTIME_LOWERS_FREQUENCY",
    "MEANTIME_BESIDE_GUESTS",
    "MEANTIME_COUNT_CALLS",
    "MEANTIME_GUEST_FUNCTION",
    "MEANTIME_GUEST_INDEX",
    "MEANTIME_GUESTS",
    "MEANTIME_GUEST_UNITS",
    "MEANTIME_STEAL_KEEPER",
    "MEANTIME_STEAL_ALL",
    "MEANTIME_STEAL_FUNCTION",
    "MEANTIME_STEAL_SLICE_NS",
    "MEANTIME_STEAL_MAX_OVERHEAD",
    "MEANTIME_STEAL_MODE",
    "MEANTIME_STEAL_ADE_NS",
    "MEANTIME_SINGLETON",
    "MEANTIME_CC",
    "MEANTIME_CXX",
    "MEANTIME_FC",
    "MEANTIME_FORTRAN",
    "MEANTIME_BUILD",
    "MEANTIME_BENCH_ENVIRONMENT",
    "MEANTIME_ORACLE",
    "MEANTIME_ORACLE_PREFIX",
    "MEANTIME_FAULT_CMA_AFTER",
    "MEANTIME_DIR",
    "MEANTIME_HOME",
    "MEANTIME_PREFIX",
    "MEANTIME_ROOT",
    "MEANTIME_VERSION",
};
constexpr std::string_view for_tests = "MEANTIME_TEST_";

/// Two or three slips are a typing error.
constexpr std::size_t too_many_slips = 4;

bool is_known(std::string_view name) {
  return find(name) != nullptr || name.starts_with(for_tests) ||
         std::find(std::begin(others), std::end(others), name) != std::end(others);
}

/// The setting that is nearest to a misspelt one; empty if none is near.
std::string_view nearest(std::string_view name) {
  std::string_view best;
  // Of a short name two slips leave nothing.
  std::size_t fewest = std::min(too_many_slips, (name.size() - prefix.size()) / 2 + 1);
  std::string capitals(name);
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  for (const Setting& setting : all()) {
    if (setting.scope == Scope::test) {
      continue;
    }
    if (const std::size_t here = slips(capitals, setting.name); here < fewest) {
      best = setting.name;
      fewest = here;
    }
  }
  return best;
}

}  // namespace

std::size_t slips(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> table(left.size() + 1,
                                              std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) {
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                              table[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[left.size()][right.size()];
}

std::string unknown_variables(const std::vector<std::string>& names) {
  std::set<std::string> unknown;
  for (const std::string& name : names) {
    if (name.starts_with(prefix) && !is_known(name)) {
      unknown.insert(name);
    }
  }
  if (unknown.empty()) {
    return {};
  }
  std::string text;
  for (const std::string& name : unknown) {
    constexpr std::size_t longest_name = 60;
    const std::string_view near = name.size() <= longest_name ? nearest(name) : std::string_view();
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", shown(name, longest_name),
                        near.empty() ? std::string() : fmt::format(" (meant {}?)", near));
  }
  return fmt::format("nothing in Meantime reads {}; `meantime config` lists all settings", text);
}

std::vector<std::string> own_names() {
  std::vector<std::string> names;
  for (char** variable = __environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

}  // namespace meantime::settings
