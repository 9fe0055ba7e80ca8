#include "core/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "launch/control.h"

namespace meantime::core {
namespace {

std::string_view value_of(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

/// Which of the words it is: its index, 0 if it is not set, -1 if it is none of them.
int one_of(const char* name, std::initializer_list<std::string_view> words) {
  const std::string_view value = value_of(name);
  const auto* found = std::find(words.begin(), words.end(), value);
  return value.empty() ? 0 : found == words.end() ? -1 : static_cast<int>(found - words.begin());
}

struct Size {
  const char* name;
  std::size_t& bytes;
  std::size_t least;
  std::size_t most;
};

bool read_size(const Size& size) {
  const std::string_view value = value_of(size.name);
  if (value.empty()) {
    return true;
  }
  const char* const last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, size.bytes);
  return error == std::errc() && end == last && size.bytes >= size.least && size.bytes <= size.most;
}

/// "LATENCY_US" or "LATENCY_US:MB_PER_S"
bool read_wire(std::string_view value, match::Wire& wire) {
  const char* const last = value.data() + value.size();
  double latency_us = 0;
  auto [end, error] = std::from_chars(value.data(), last, latency_us);
  if (error != std::errc() || !(latency_us >= 0 && latency_us <= 1e6)) {
    return false;
  }
  if (end != last) {
    double megabytes = 0;
    const auto rest = std::from_chars(end + 1, last, megabytes);
    if (*end != ':' || rest.ec != std::errc() || rest.ptr != last || !(megabytes >= 1)) {
      return false;
    }
    wire.ns_per_byte = 1e3 / megabytes;
  }
  wire.latency_ns = static_cast<std::uint64_t>(latency_us * 1e3);
  wire.on = true;
  return true;
}

}  // namespace

std::string read_settings(Settings& settings, match::Limits& limits) {
  constexpr std::size_t most = std::size_t{1} << 40;
  const Size sizes[] = {{"MEANTIME_EAGER_LIMIT", limits.eager, 0, 256 * 1024},
                        {"MEANTIME_EAGER_PAIR", limits.pair_credit, 0, most},
                        {"MEANTIME_EAGER_RANK", limits.rank_credit, 0, most},
                        {"MEANTIME_FRAGMENT", limits.fragment, match::least_fragment, most}};
  for (const Size& size : sizes) {
    if (!read_size(size)) {
      return fmt::format("{} must be a number of bytes from {} to {}, not '{}'", size.name,
                         size.least, size.most, value_of(size.name));
    }
  }
  if (!value_of("MEANTIME_EAGER_LIMIT").empty()) {
    limits.medium = limits.eager;  // set by hand: exactly that
  }
  const int always_move = one_of("MEANTIME_TEST_ALWAYS_MOVE", {"0", "1"});
  if (always_move < 0) {
    return fmt::format("MEANTIME_TEST_ALWAYS_MOVE must be 0 or 1, not '{}'",
                       value_of("MEANTIME_TEST_ALWAYS_MOVE"));
  }
  settings.always_move = always_move == 1;
  if (const std::string_view wire = value_of("MEANTIME_TEST_WIRE"); !wire.empty()) {
    if (!read_wire(wire, limits.wire)) {
      return fmt::format("MEANTIME_TEST_WIRE must be LATENCY_US or LATENCY_US:MB_PER_S, not '{}'",
                         wire);
    }
    if (value_of("MEANTIME_WAIT") != "yield" && value_of("MEANTIME_WAIT") != "poll") {
      return "MEANTIME_TEST_WIRE needs MEANTIME_WAIT=yield or poll";
    }
  }
  const int without_attach = one_of("MEANTIME_CMA", {"1", "0"});
  if (without_attach < 0) {
    return fmt::format("MEANTIME_CMA must be 0 or 1, not '{}'", value_of("MEANTIME_CMA"));
  }
  settings.cross_memory = without_attach == 0;
  const int action = one_of(launch::deadlock_variable, {"abort", "report", "ignore"});
  if (action < 0) {
    return fmt::format("{} must be abort, report or ignore, not '{}'", launch::deadlock_variable,
                       value_of(launch::deadlock_variable));
  }
  settings.on_deadlock = static_cast<std::uint32_t>(action);
  return {};
}

}  // namespace meantime::core
