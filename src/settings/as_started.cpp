#include "settings/as_started.h"

#include <fmt/format.h>

#include "settings/presets.h"
#include "settings/shown.h"

namespace meantime::settings {

std::string way_to_wait(const ValueOf& value) {
  const std::string name = value("MEANTIME_WAIT");
  std::string way = name.empty() ? std::string(wait::presets[0].name) : shown(name);
  for (const char* knob : {"MEANTIME_TRIES_POLL", "MEANTIME_TRIES_YIELD", "MEANTIME_TIMEOUT"}) {
    const std::string number = value(knob);
    way += number.empty() ? "" : fmt::format(", {}={}", knob, shown(number));
  }
  return way;
}

std::string energy_policy(const ValueOf& value) {
  const std::string name = value("MEANTIME_ENERGY");
  return name.empty() ? "none" : shown(name);
}

}  // namespace meantime::settings
