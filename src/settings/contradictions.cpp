#include "settings/contradictions.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "settings/presets.h"
#include "settings/shown.h"

namespace meantime::settings {
namespace {

using Values = std::function<Value(const Setting&)>;

/// What somebody has said about a setting.
struct Said {
  std::string_view name;
  Value value;

  [[nodiscard]] bool anything() const { return !value.text.empty(); }
  [[nodiscard]] bool is(std::string_view text) const { return value.text == text; }
  [[nodiscard]] std::string text() const {
    return value.where.empty() ? fmt::format("{}={}", name, shown(value.text))
                               : fmt::format("{}={} ({}{})", name, shown(value.text), value.where,
                                             value.locked ? ", locked" : "");
  }
  [[nodiscard]] std::optional<std::uint64_t> number() const {
    return settings::number(*find(name), value.text);
  }
  /// For this job alone, not in a file.
  [[nodiscard]] bool for_this_job() const {
    return anything() && (value.source == Source::environment || value.source == Source::launcher);
  }
};

Said said(const Values& values, std::string_view name) {
  return {name, values(*find(name))};
}

/// `later` was said as late as `earlier` or later: whoever said it could know.
bool is_no_earlier(const Said& later, const Said& earlier) {
  return later.value.source >= earlier.value.source;
}

/// The row of the table that holds.
const wait::Preset& way_to_wait(const Values& values) {
  const wait::Preset* preset = wait::find_preset(said(values, "MEANTIME_WAIT").value.text);
  return preset != nullptr ? *preset : wait::presets[0];
}

std::string of_no_rung(const Values& values) {
  const wait::Knobs& knobs = way_to_wait(values).knobs;
  const std::pair<std::string_view, std::uint64_t> rungs[] = {
      {"MEANTIME_TRIES_POLL", knobs.tries_poll},
      {"MEANTIME_TRIES_YIELD", knobs.tries_yield},
      {"MEANTIME_TIMEOUT", knobs.timeout_us}};
  std::string locked;
  for (const auto& [name, preset] : rungs) {
    const Said rung = said(values, name);
    if (rung.number().value_or(preset) != 0) {
      return {};
    }
    if (rung.value.locked && rung.anything()) {
      locked += "; " + rung.text();
    }
  }
  return "MEANTIME_TRIES_POLL, MEANTIME_TRIES_YIELD and MEANTIME_TIMEOUT are all 0: then a rank "
         "has no way to wait" +
         locked;
}

/// What makes the rung of a knob endless: the knob itself, or the way to wait that stands in its
/// place. Nothing if it ends.
std::optional<Said> endless(const Values& values, std::string_view knob) {
  if (Said own = said(values, knob); own.anything()) {
    return own.number() == infinity ? std::optional(own) : std::nullopt;
  }
  const wait::Knobs& knobs = way_to_wait(values).knobs;
  const bool ends =
      (knob == "MEANTIME_TRIES_POLL" ? knobs.tries_poll : knobs.tries_yield) != wait::endless;
  return ends ? std::nullopt : std::optional(said(values, "MEANTIME_WAIT"));
}

/// The part cannot be larger than the whole, nor than the part is if nobody says anything.
std::string of_sizes(const Values& values) {
  struct Pair {
    std::string_view whole;
    std::string_view part;
  };
  constexpr Pair pairs[] = {{"MEANTIME_EAGER_PAIR", "MEANTIME_EAGER_LIMIT"},
                            {"MEANTIME_EAGER_RANK", "MEANTIME_EAGER_LIMIT"},
                            {"MEANTIME_EAGER_RANK", "MEANTIME_EAGER_PAIR"}};
  for (const Pair& pair : pairs) {
    const Said whole = said(values, pair.whole);
    const Said part = said(values, pair.part);
    if (!whole.anything()) {
      continue;
    }
    if (part.anything()) {
      if (whole.number() < part.number()) {
        return fmt::format("{} must not be less than {}", whole.text(), part.text());
      }
    } else if (pair.part == "MEANTIME_EAGER_LIMIT" && whole.number() < preset_eager_limit) {
      return fmt::format("{} must not be less than {}, which is {} bytes unless it is set",
                         whole.text(), pair.part, preset_eager_limit);
    }
  }
  return {};
}

struct Need {
  std::string_view name;
  std::string_view harmless;  ///< a value that asks for nothing
  std::string_view needs;
  std::string_view wanted;
};
constexpr Need needs[] = {
    {"MEANTIME_COUNTDOWN", "", "MEANTIME_ENERGY", "countdown"},
    {"MEANTIME_FREQUENCY", "none", "MEANTIME_ENERGY", "countdown"},
};

/// "MEANTIME_FREQUENCY=epp is of no use without MEANTIME_ENERGY=countdown", if it is for this job.
std::string unmet(const Values& values, const Need& need) {
  const Said given = said(values, need.name);
  return given.for_this_job() && !given.is(need.harmless) &&
                 !said(values, need.needs).is(need.wanted)
             ? fmt::format("{} is of no use without {}={}", given.text(), need.needs, need.wanted)
             : std::string();
}

/// What only works with something else that nobody has asked for.
std::string of_what_is_missing(const Values& values) {
  for (const Need& need : needs) {
    if (!said(values, need.needs).value.locked) {
      if (std::string wrong = unmet(values, need); !wrong.empty()) {
        return wrong;
      }
    }
  }
  return {};
}

/// Two who would both decide.
std::string of_policies(const Values& values) {
  const auto decides = [](const Said& who) { return who.anything() && !who.is("none"); };
  const Said policy = said(values, "MEANTIME_ENERGY");
  const Said handler = said(values, "MEANTIME_ENERGY_HANDLER");
  return decides(policy) && decides(handler)
             ? fmt::format("{} and {} are both set; one policy is all there can be", policy.text(),
                           handler.text())
             : std::string();
}

}  // namespace

std::vector<std::string> deprived(const Values& values) {
  std::vector<std::string> lines;
  for (const Need& need : needs) {
    const Value needed = values(*find(need.needs));
    if (const std::string line = unmet(values, need); needed.locked && !line.empty()) {
      lines.push_back(fmt::format("{}, which stays {}: {}", line,
                                  needed.text.empty() ? find(need.needs)->preset : needed.text,
                                  source_name(needed)));
    }
  }
  return lines;
}

std::string out_of_reach(const Values& values, std::string_view* endless_by) {
  for (const std::string_view rung : {"MEANTIME_TRIES_POLL", "MEANTIME_TRIES_YIELD"}) {
    const std::optional<Said> before = endless(values, rung);
    if (!before) {
      continue;
    }
    for (const std::string_view next : {"MEANTIME_TRIES_YIELD", "MEANTIME_TIMEOUT"}) {
      const Said after = said(values, next);
      const bool says_nothing = !after.anything() || next == rung || after.is("0") ||
                                (after.number() == infinity && next == "MEANTIME_TIMEOUT");
      if (!says_nothing && is_no_earlier(after, *before)) {
        if (endless_by != nullptr) {
          *endless_by = before->name;
        }
        return fmt::format("{} is never come to after {}: leave one of them out", after.text(),
                           before->text());
      }
    }
  }
  return {};
}

std::string contradiction(const Values& values) {
  if (std::string wrong = of_no_rung(values); !wrong.empty()) {
    return wrong;
  }
  if (std::string wrong = out_of_reach(values); !wrong.empty()) {
    return wrong;
  }
  for (const auto& rule : {of_sizes, of_what_is_missing, of_policies}) {
    if (std::string wrong = rule(values); !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

}  // namespace meantime::settings
