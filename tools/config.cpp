// `meantime config`: every setting, its value for a program that is started here, and who said so.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "launch/start/installation.h"
#include "machine/wake_up_cache.h"
#include "settings/contradictions.h"
#include "settings/misspelt.h"
#include "settings/presets.h"
#include "settings/shown.h"
#include "settings/sources.h"
#include "settings/terminal.h"
#include "subcommands.h"

namespace meantime::tools {

namespace {

/// What `auto` stands for here.
std::string measured() {
  const machine::WakeUpCache cache;
  const std::uint64_t ns = cache.read();
  return ns != 0 ? fmt::format("#   auto: {:.1f} us, from {}\n", static_cast<double>(ns) * 1e-3,
                               cache.path())
                 : "#   auto: not measured yet\n";
}

/// What the number in a value counts; nothing if it is none.
std::string unit(const settings::Setting& setting, std::string_view value) {
  if (value.empty() || value.find_first_not_of("0123456789KMGkmg") != std::string_view::npos) {
    return {};
  }
  switch (setting.kind) {
    case settings::Kind::microseconds:
      return " us";
    case settings::Kind::bytes:
      return " bytes";
    case settings::Kind::count:
      return " looks";
    default:
      return {};
  }
}

std::string number(std::uint64_t value) {
  return value == wait::endless ? "infinity" : fmt::to_string(value);
}

/// What a word of MEANTIME_WAIT stands for.
std::string knobs(std::string_view word) {
  const wait::Preset* preset = wait::find_preset(word);
  if (preset == nullptr) {
    return {};
  }
  const std::string shared = preset->few_tries_poll == preset->knobs.tries_poll
                                 ? std::string()
                                 : fmt::format(" ({} where ranks share cores or waits are long)",
                                               number(preset->few_tries_poll));
  return fmt::format(
      "#   {}: {}\n#   MEANTIME_TRIES_POLL {}{}, MEANTIME_TRIES_YIELD {}{}, "
      "MEANTIME_TIMEOUT {}{}\n",
      preset->name, preset->meaning, number(preset->knobs.tries_poll), shared,
      number(preset->knobs.tries_yield), wait::first_yields(*preset),
      number(preset->knobs.timeout_us), preset->knobs.timeout_us == wait::endless ? "" : " us");
}

/// One setting as it is printed.
struct Row {
  const settings::Setting* setting;
  settings::Value value;
  std::string text;    ///< value and unit
  std::string remark;  ///< on who has said something else, with its semicolon
};

/// Why something else does not hold that somebody may have meant to hold.
std::string remark_on(const settings::Setting& setting, const settings::Value& value,
                      const settings::Environment& environment) {
  if (!value.in_vain.empty()) {
    return "; not " + value.in_vain;
  }
  return environment(setting.name) == std::string()
             ? "; empty in the environment, which is as not set"
             : std::string();
}

Row row_of(const settings::Setting& setting, const settings::Files& files,
           const settings::Environment& environment) {
  const settings::Value value = files.value(setting, environment);
  const std::string text =
      value.text.empty() ? std::string(setting.preset) : settings::shown_path(value.text);
  return {&setting, value, text + unit(setting, text), remark_on(setting, value, environment)};
}

std::vector<Row> rows_of(const settings::Files& files, const settings::Environment& environment) {
  std::vector<Row> rows;
  for (const settings::Setting& setting : settings::all()) {
    Row row = row_of(setting, files, environment);
    if (setting.scope != settings::Scope::test || !row.value.text.empty()) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

/// What makes no sense, or is not read by anybody.
int print_problems(const std::vector<Row>& rows, const settings::Files& files,
                   const settings::Environment& environment) {
  int status = 0;
  const auto complain = [&](const std::string& line) {
    if (!line.empty()) {
      fmt::print(stderr, "meantime: {}\n", settings::shown(line, settings::any_length));
      status = 1;
    }
  };
  complain(files.problem());
  for (const Row& row : rows) {
    complain(row.value.text.empty() ? std::string()
                                    : settings::problem(*row.setting, row.value.text));
  }
  if (status == 0) {
    complain(settings::contradiction(
        [&](const settings::Setting& setting) { return files.value(setting, environment); }));
  }
  for (const std::string& line : settings::deprived(
           [&](const settings::Setting& setting) { return files.value(setting, environment); })) {
    fmt::print(stderr, "meantime: {}\n", settings::shown(line, settings::any_length));
  }
  for (const std::string& remark : files.remarks()) {
    fmt::print(stderr, "meantime: {}\n", settings::shown(remark, settings::any_length));
  }
  if (const std::string unknown = settings::unknown_variables(settings::own_names());
      !unknown.empty()) {
    fmt::print(stderr, "meantime: {}\n", unknown);
  }
  return status;
}

/// On a terminal what is to be known of a setting is below it, for both seldom fit in a line.
void print_row(const Row& row, std::size_t name_width, std::size_t text_width) {
  const settings::Page page = settings::page_of(STDOUT_FILENO);
  const std::string remark = fmt::format("# {}; {}{}\n", settings::source_name(row.value),
                                         row.setting->meaning, row.remark);
  std::string text = page.columns != 0 ? fmt::format("{:<{}}  {}\n  {}", row.setting->name,
                                                     name_width, row.text, remark)
                                       : fmt::format("{:<{}}  {:<{}}  {}", row.setting->name,
                                                     name_width, row.text, text_width, remark);
  if (row.setting->name == "MEANTIME_WAIT") {
    text += knobs(row.text);
  }
  if (row.setting->name == "MEANTIME_WAKE_UP_COST" && row.text == "auto") {
    text += measured();
  }
  std::fputs(settings::laid_out(text, page).c_str(), stdout);
}

/// "none; not there: PREFIX/etc/meantime.conf, ..."
std::string words_on_files(const settings::Files& files) {
  std::string text =
      files.paths().empty() ? "none" : fmt::format("{}", fmt::join(files.paths(), ", "));
  return files.absent().empty()
             ? text
             : text + fmt::format("; not there: {}", fmt::join(files.absent(), ", "));
}

int print_one(const std::string& name, const settings::Files& files,
              const settings::Environment& environment) {
  const settings::Setting* setting = settings::find(settings::full_name(name));
  if (setting == nullptr) {
    const std::string unknown = settings::unknown_variables({settings::full_name(name)});
    fmt::print(stderr, "meantime: {}\n",
               unknown.empty() ? fmt::format("'{}' is no setting; `meantime config` lists them all",
                                             settings::shown(name))
                               : unknown);
    return 2;
  }
  const Row row = row_of(*setting, files, environment);
  print_row(row, 0, 0);
  std::fflush(stdout);
  // The others', too: with one that is refused, this one's value is no job's.
  return print_problems(rows_of(files, environment), files, environment);
}

}  // namespace

int config(const std::string& name) {
  const settings::Environment environment = settings::own_environment();
  settings::Files files;
  files.read(launch::prefix(), environment);
  if (!name.empty()) {
    return print_one(name, files, environment);
  }
  const std::vector<Row> rows = rows_of(files, environment);
  std::size_t name_width = 0;
  std::size_t text_width = 0;
  constexpr std::size_t widest_column = 24;  // longer values push what follows to the right
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.setting->name.size());
    if (row.text.size() <= widest_column) {
      text_width = std::max(text_width, row.text.size());
    }
  }
  for (const Row& row : rows) {
    print_row(row, name_width, text_width);
  }
  std::fputs(
      settings::laid_out(fmt::format("\n# files: {}\n",
                                     settings::shown(words_on_files(files), settings::any_length)),
                         settings::page_of(STDOUT_FILENO))
          .c_str(),
      stdout);
  std::fflush(stdout);
  return print_problems(rows, files, environment);
}

}  // namespace meantime::tools
