#include "core/tool/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "core/start/settings.h"
#include "rank/rank.h"
#include "settings/presets.h"

namespace meantime::tool {
namespace {

using settings::Kind;
using settings::Scope;
using settings::Setting;

constexpr int text_room = 256;

/// One for each setting that is a word; a deque, because variables point into it.
const Enumeration* enumeration_of(const Setting& setting) {
  static auto& enumerations = *new std::deque<Enumeration>;
  return &enumerations.emplace_back(
      Enumeration{std::string(setting.name) + " values", setting.words});
}

ControlVariable variable_of(const Setting& setting) {
  ControlVariable variable{&setting, MPI_UNSIGNED_LONG_LONG,      1,
                           nullptr,  MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_SCOPE_READONLY};
  if (setting.kind == Kind::word) {
    variable.type = MPI_INT;
    variable.enumeration = enumeration_of(setting);
  } else if (setting.kind == Kind::text) {
    variable.type = MPI_CHAR;
    variable.count = text_room;
  }
  if (setting.scope == Scope::live) {
    variable.verbosity = MPI_T_VERBOSITY_USER_BASIC;
    variable.scope = MPI_T_SCOPE_LOCAL;
  } else if (setting.scope == Scope::test) {
    variable.verbosity = MPI_T_VERBOSITY_MPIDEV_BASIC;
  }
  return variable;
}

/// The numbers behind presets that a table tells in words.
std::uint64_t number_in_effect(const Rank& rank, const Setting& setting) {
  const match::Limits limits = rank.engine != nullptr ? rank.engine->limits : match::Limits{};
  const struct {
    std::string_view name;
    std::size_t bytes;
  } sizes[] = {{"MEANTIME_EAGER_LIMIT", limits.eager},
               {"MEANTIME_EAGER_PAIR", limits.pair_credit},
               {"MEANTIME_EAGER_RANK", limits.rank_credit},
               {"MEANTIME_EAGER_MOST", limits.most_credit},
               {"MEANTIME_FRAGMENT", limits.fragment}};
  for (const auto& size : sizes) {
    if (size.name == setting.name) {
      return size.bytes;
    }
  }
  // "none" is no number; where 0 is the strictest of all values, the largest is none at all.
  const bool zero_is_a_value = setting.least == 0 && !setting.words.empty();
  return settings::number(setting, core::setting_in_effect(rank, setting))
      .value_or(zero_is_a_value ? settings::infinity : 0);
}

}  // namespace

std::span<const ControlVariable> control_variables() {
  // Never destroyed, like all of the tool interface's state: tools may ask at the very end.
  static const auto& variables = *[] {
    auto* all = new std::vector<ControlVariable>;
    for (const Setting& setting : settings::all()) {
      all->push_back(variable_of(setting));
    }
    return all;
  }();
  return variables;
}

std::string description_of(const ControlVariable& variable) {
  std::string text(variable.setting->meaning);
  if (variable.setting->name == "MEANTIME_ENERGY") {
    text +=
        "; none: as MEANTIME_WAIT says; performance: polls for 10 ms, then sleeps; balanced: polls "
        "for twice the last wait at this call site if that was short, else sleeps; powersave: "
        "sleeps at once; countdown: asks for a lower frequency in a wait of MEANTIME_COUNTDOWN";
  }
  if (variable.setting->name == "MEANTIME_WAIT") {
    for (const wait::Preset& preset : wait::presets) {
      text += fmt::format("; {}: {}", preset.name, preset.meaning);
    }
  }
  return text;
}

void read(const ControlVariable& variable, void* value) {
  const Setting& setting = *variable.setting;
  if (setting.kind == Kind::word) {
    const std::string text = core::setting_in_effect(self(), setting);
    const auto found = std::find(setting.words.begin(), setting.words.end(), text);
    const int index = static_cast<int>(found - setting.words.begin());
    std::memcpy(value, &index, sizeof index);
  } else if (setting.kind == Kind::text) {
    const std::string text = core::setting_in_effect(self(), setting);
    auto* out = static_cast<char*>(value);
    out[text.copy(out, text_room - 1)] = '\0';
  } else {
    const unsigned long long number = number_in_effect(self(), setting);
    std::memcpy(value, &number, sizeof number);
  }
}

int write(const ControlVariable& variable, const void* value) {
  const Setting& setting = *variable.setting;
  Rank& rank = self();
  if (setting.scope != Scope::live) {
    return MPI_T_ERR_CVAR_SET_NEVER;
  }
  if (rank.phase.load(std::memory_order_relaxed) != Phase::active) {
    return MPI_T_ERR_CVAR_SET_NOT_NOW;
  }
  std::string text;
  if (setting.kind == Kind::word) {
    int index;
    std::memcpy(&index, value, sizeof index);
    if (index < 0 || static_cast<std::size_t>(index) >= setting.words.size()) {
      return MPI_T_ERR_INVALID;
    }
    text = setting.words[static_cast<std::size_t>(index)];
  } else if (setting.kind == Kind::text) {
    text.assign(static_cast<const char*>(value),
                strnlen(static_cast<const char*>(value), text_room));
  } else {
    unsigned long long number;
    std::memcpy(&number, value, sizeof number);
    text = number == settings::infinity ? "infinity" : std::to_string(number);
  }
  if (!settings::same(setting, text, core::as_started(setting)) &&
      !core::locked_by(setting).empty()) {
    return MPI_T_ERR_CVAR_SET_NEVER;  // which ends no program
  }
  return core::change_setting(rank, setting, text).empty() ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

}  // namespace meantime::tool
