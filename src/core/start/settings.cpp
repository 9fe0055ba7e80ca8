#include "core/start/settings.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "core/error/remark.h"
#include "ledger/changes.h"
#include "policy/policy.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "settings/contradictions.h"
#include "settings/misspelt.h"
#include "settings/shown.h"
#include "settings/sources.h"

namespace meantime::core {
namespace {

/// One a process: set before any rank reads from it.
settings::Files& files() {
  static auto& files = *new settings::Files;  // never destroyed: atexit handlers may ask
  return files;
}

struct Size {
  const char* name;
  std::size_t& bytes;
};

/// LATENCY_US[:MB_PER_S][:interface]
bool read_wire(std::string_view value, match::Wire& wire) {
  constexpr std::string_view interface = ":interface";
  if (value.ends_with(interface)) {
    value.remove_suffix(interface.size());
    wire.interface_answers = true;
  }
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

/// Of what is 0, if no rung is left: what the site's file locks; nothing if that is none of it.
std::string_view locked_at_zero() {
  for (const char* name : {"MEANTIME_TRIES_POLL", "MEANTIME_TRIES_YIELD", "MEANTIME_TIMEOUT"}) {
    const settings::Setting& row = *settings::find(name);
    if (!locked_by(row).empty() && settings::number(row, setting(name)) == 0) {
      return row.name;
    }
  }
  return {};
}

static_assert(match::Limits{}.eager == settings::preset_eager_limit);

}  // namespace

/// lib/libmpi_abi.so.1 or lib/meantime/libmpi_abi.so.1, links followed: the folder above lib.
std::string prefix() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&files), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  char* path = realpath(info.dli_fname, nullptr);
  const std::string text = path != nullptr ? path : "";
  std::free(path);
  const std::size_t lib = text.rfind("/lib");
  const std::size_t above = lib == std::string::npos ? lib : text.rfind("/lib", lib - 1);
  // ".../lib/libmpi_abi.so.1": the last "/lib" is the file's.
  return above == std::string::npos ? std::string() : text.substr(0, above);
}

void read_setting_files() {
  files().read(prefix(), settings::own_environment());
}

void take_locks_of_mpiexec() {
  const char* text = std::getenv(launch::locked_variable);
  files().take_locks(text != nullptr ? text : "");
}

void tell_what_locks_overrule(const Rank& rank) {
  const settings::Environment environment = settings::own_environment();
  for (const settings::Setting& row : settings::all()) {
    const settings::Value value = files().value(row, environment);
    if (const std::string line = settings::overruled(row, value); !line.empty()) {
      remark(rank, settings::told_as(row, value), line);
    }
  }
}

std::string settings_without_mpiexec(std::vector<std::string>& remarks) {
  const settings::Environment environment = settings::own_environment();
  const auto value = [&](const settings::Setting& row) { return files().value(row, environment); };
  if (std::string wrong = settings::first_problem(files(), environment); !wrong.empty()) {
    return wrong;
  }
  if (std::string wrong = settings::contradiction(value); !wrong.empty()) {
    return wrong;
  }
  // Undone by mpiexec's processes, whatever happens to the ranks: so nothing is done without them.
  for (const std::string_view name : {"MEANTIME_FREQUENCY", "MEANTIME_CPU_DMA_LATENCY"}) {
    const settings::Value said = value(*settings::find(name));
    if (const std::string& text = said.text; !text.empty() && text != "none") {
      std::string line = fmt::format("{} needs mpiexec, which did not start this program", name);
      if (setting("MEANTIME_MACHINE") == "require") {
        return line + " (MEANTIME_MACHINE=require)";
      }
      if (said.source >= settings::Source::environment) {  // a file is for many jobs
        remarks.push_back(line + ": it does nothing");
      }
    }
  }
  for (std::string& line : settings::deprived(value)) {
    remarks.push_back(std::move(line));
  }
  for (const settings::Setting& row : settings::all()) {
    if (settings::is_news(value(row))) {
      remarks.push_back(settings::overruled(row, value(row)));
    }
  }
  remarks.push_back(settings::unknown_variables(settings::own_names()));
  remarks.insert(remarks.end(), files().remarks().begin(), files().remarks().end());
  std::erase(remarks, std::string());
  return {};
}

std::string setting(std::string_view name) {
  const settings::Setting* row = settings::find(name);
  return row != nullptr ? files().value(*row, settings::own_environment()).text : std::string();
}

std::string as_started(const settings::Setting& row) {
  const std::string value = setting(row.name);
  return value.empty() ? std::string(row.preset) : value;
}

std::string setting_in_effect(const Rank& rank, const settings::Setting& row) {
  std::string waiting;
  if (rank.policy.preset != nullptr) {
    waiting = rank.policy.value(row.name);
  } else {  // before MPI_Init, which makes a policy of them
    std::string problem;
    waiting =
        wait::make_policy(wait::policy_settings_from(setting, &problem), false).value(row.name);
  }
  return waiting.empty() ? as_started(row) : waiting;
}

std::string locked_by(const settings::Setting& row) {
  const settings::Value value = files().value(row, settings::own_environment());
  return value.locked ? value.where : std::string();
}

bool lock_overrules(const Rank& rank, const settings::Setting& row, std::string_view value,
                    std::string_view who) {
  const std::string where = locked_by(row);
  if (where.empty()) {
    return false;
  }
  if (!settings::same(row, value, as_started(row))) {
    remark(rank, fmt::format("{} {}", row.name, who),
           fmt::format("{} stays {}, not {} as {} says: {}, locked", row.name, as_started(row),
                       settings::shown(value), who, where));
  }
  return true;
}

std::string out_of_reach(const wait::PolicySettings& given, const wait::PolicySettings& weaker,
                         std::string_view* endless_by) {
  const auto source = [](bool same) {
    return same ? settings::Source::environment : settings::Source::launcher;
  };
  const auto knob = [&](const std::optional<std::uint64_t>& number,
                        const std::optional<std::uint64_t>& before) -> settings::Value {
    return {!number                         ? std::string()
            : *number == settings::infinity ? "infinity"
                                            : fmt::to_string(*number),
            source(number == before),
            {}};
  };
  const auto value = [&](const settings::Setting& row) -> settings::Value {
    if (row.name == "MEANTIME_WAIT") {
      return {std::string(given.preset != nullptr ? given.preset->name : ""),
              source(given.preset == weaker.preset),
              {}};
    }
    return row.name == "MEANTIME_TRIES_POLL"    ? knob(given.tries_poll, weaker.tries_poll)
           : row.name == "MEANTIME_TRIES_YIELD" ? knob(given.tries_yield, weaker.tries_yield)
                                                : knob(given.timeout_us, weaker.timeout_us);
  };
  return settings::out_of_reach(value, endless_by);
}

std::string change_setting(Rank& rank, const settings::Setting& row, std::string_view value) {
  if (row.scope != settings::Scope::live) {
    return fmt::format("{} is read in MPI_Init; it cannot be changed afterwards", row.name);
  }
  if (!value.empty()) {
    if (std::string wrong = settings::problem(row, value); !wrong.empty()) {
      return wrong;
    }
    if (lock_overrules(rank, row, value, "the program")) {
      return {};
    }
  }
  const std::string before = value.empty() ? setting(row.name) : std::string(value);
  wait::PolicySettings given = rank.policy_settings;
  std::string wrong = given.add(row.name, before);
  std::string_view in_the_way;
  if (!wrong.empty()) {
    in_the_way = locked_at_zero();
  } else {
    wrong = out_of_reach(given, wait::policy_settings(), &in_the_way);
  }
  if (!wrong.empty()) {
    // What a lock has brought about is not the program's mistake.
    const std::string where =
        in_the_way.empty() ? std::string() : locked_by(*settings::find(in_the_way));
    if (where.empty()) {
      return wrong;
    }
    remark(rank, fmt::format("{} the program", row.name),
           fmt::format("{}; {} stays {}: {} is locked ({})", wrong, row.name,
                       setting_in_effect(rank, row), in_the_way, where));
    return {};
  }
  rank.policy_settings = given;
  rank.policy = wait::make_policy(rank.policy_settings, wait::policy().crowded);
  if (!value.empty() && value != as_started(row)) {
    ledger::note_change(*rank.area, ledger::ChangedBy::rank, row.name, value);
  }
  return {};
}

std::string read_settings(Settings& settings, match::Limits& limits) {
  if (std::string wrong = settings::first_problem(files(), settings::own_environment());
      !wrong.empty()) {
    return wrong;
  }
  const Size sizes[] = {
      {"MEANTIME_EAGER_LIMIT", limits.eager},      {"MEANTIME_EAGER_PAIR", limits.pair_credit},
      {"MEANTIME_EAGER_RANK", limits.rank_credit}, {"MEANTIME_EAGER_MOST", limits.most_credit},
      {"MEANTIME_FRAGMENT", limits.fragment},      {"MEANTIME_REMOTE_EAGER", limits.remote_eager}};
  for (const Size& size : sizes) {
    if (const std::string value = setting(size.name); !value.empty()) {
      size.bytes = settings::number(*settings::find(size.name), value).value_or(size.bytes);
    }
  }
  if (!setting("MEANTIME_EAGER_LIMIT").empty()) {
    limits.medium = limits.eager;  // set by hand: exactly that
  }
  if (setting("MEANTIME_EAGER_PAIR").empty()) {
    limits.pair_credit = std::min(limits.pair_credit, limits.rank_credit);
  }
  if (setting("MEANTIME_EAGER_RANK").empty()) {
    // The whole, of which nobody has said anything, is no less than the part of which somebody has.
    limits.rank_credit = std::max(limits.rank_credit, limits.pair_credit);
  }
  settings.always_move = setting("MEANTIME_TEST_ALWAYS_MOVE") == "1";
  if (const std::string wire = setting("MEANTIME_TEST_WIRE"); !wire.empty()) {
    if (!read_wire(wire, limits.wire)) {
      return fmt::format("MEANTIME_TEST_WIRE must be LATENCY_US[:MB_PER_S][:interface], not '{}'",
                         settings::shown(wire));
    }
    if (setting("MEANTIME_WAIT") != "yield" && setting("MEANTIME_WAIT") != "poll") {
      return "MEANTIME_TEST_WIRE needs MEANTIME_WAIT=yield or poll";
    }
  }
  const std::string helper = setting("MEANTIME_HELPER");
  settings.helps = helper != "off";
  constexpr std::size_t taken_by_socket = 64 * 1024;  // its buffers are larger, on either side
  limits.answered_from = helper == "on" ? 0 : std::min(limits.remote_eager, taken_by_socket) + 1;
  settings.cross_memory = setting("MEANTIME_CMA") != "0";
  settings.attaches = setting("MEANTIME_TEST_ATTACHES") == "1";
  settings.argument_checks = setting("MEANTIME_CHECKS") != "0";
  settings.backtrace = setting("MEANTIME_BACKTRACE") != "0";
  settings.missing_calls_end = setting("MEANTIME_MISSING_CALLS") != "error";
  const std::string action = setting(launch::deadlock_variable);
  if (const std::string still = setting("MEANTIME_TEST_STILL"); !still.empty()) {
    settings.still_ns = std::strtoull(still.c_str(), nullptr, 10) * 1'000'000'000;
  }
  if (const std::string lost = setting("MEANTIME_LOST_AFTER"); !lost.empty()) {
    settings.lost_after_s = std::atoi(lost.c_str());
  }
  settings.on_deadlock = action == "report" ? 1 : action == "ignore" ? 2 : 0;
  return {};
}

}  // namespace meantime::core
