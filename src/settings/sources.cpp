#include "settings/sources.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "settings/shown.h"
#include "settings/text_file.h"

namespace meantime::settings {
namespace {

/// What some editors put before a text in UTF-8.
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::string user_file(const Environment& environment) {
  const std::string config = environment("XDG_CONFIG_HOME").value_or("");
  if (!config.empty()) {
    return config + "/meantime.conf";
  }
  const std::string home = environment("HOME").value_or("");
  return home.empty() ? std::string() : home + "/.config/meantime.conf";
}

/// What holds: of what is not set, the preset.
std::string_view text_of(const Setting& setting, const Value& value) {
  return value.text.empty() ? setting.preset : value.text;
}

}  // namespace

std::string full_name(std::string_view name) {
  std::string full(name);
  std::transform(full.begin(), full.end(), full.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  return full.starts_with("MEANTIME_") ? full : "MEANTIME_" + full;
}

Environment own_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    // A set-user-ID program has rights that whoever sets its environment lacks: it would open his
    // files, and show what is in those of others.
    const char* value =
        getauxval(AT_SECURE) == 0 ? std::getenv(std::string(name).c_str()) : nullptr;
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
}

void Files::read(const std::string& prefix, const Environment& environment) {
  values_.assign(all().size(), {});
  if (!prefix.empty()) {
    read_file(prefix + "/etc/meantime.conf", Source::site);
    lock_what_replaces_the_way_to_wait();
  }
  if (const std::string path = user_file(environment); !path.empty()) {
    read_file(path, Source::user);
  }
}

void Files::lock_what_replaces_the_way_to_wait() {
  const auto locked_at = [&](std::string_view name) { return values_[find(name) - all().data()]; };
  const Value way = locked_at("MEANTIME_WAIT");
  const Value policy = locked_at("MEANTIME_ENERGY");
  const Value handler = locked_at("MEANTIME_ENERGY_HANDLER");
  for (const char* name : {"MEANTIME_TRIES_POLL", "MEANTIME_TRIES_YIELD", "MEANTIME_TIMEOUT"}) {
    lock_too(name, way);
  }
  lock_too("MEANTIME_ENERGY", handler.locked ? handler : way);
  lock_too("MEANTIME_ENERGY_HANDLER", policy.locked ? policy : way);
  lock_none_beside("MEANTIME_ENERGY", handler);
  lock_none_beside("MEANTIME_ENERGY_HANDLER", policy);
}

void Files::lock_none_beside(std::string_view name, const Value& other) {
  Value& value = values_[find(name) - all().data()];
  if (other.locked && !other.text.empty() && other.text != "none" && value.text == "none") {
    value.where = other.where;
    value.locked = true;
  }
}

void Files::lock_too(std::string_view name, const Value& locked) {
  Value& value = values_[find(name) - all().data()];
  if (locked.locked && value.text.empty()) {
    value = {{}, Source::site, locked.where, true};
  }
}

std::string Files::locks() const {
  std::string text;
  for (std::size_t index = 0; index < values_.size(); ++index) {
    if (const Value& value = values_[index]; value.locked) {
      text += fmt::format("{}={}\n{}\n", all()[index].name, value.text, shown_path(value.where));
    }
  }
  return text;
}

void Files::take_locks(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line, where; std::getline(lines, line) && std::getline(lines, where);) {
    const std::size_t equals = std::min(line.find('='), line.size());
    if (const Setting* setting = find(std::string_view(line).substr(0, equals))) {
      values_.resize(all().size());
      values_[setting - all().data()] = {line.substr(std::min(equals + 1, line.size())),
                                         Source::site, where, true};
    }
  }
}

void Files::read_file(const std::string& path, Source source) {
  std::string text;
  if (const std::string why = read_text_file(path, &text); !why.empty()) {
    note_unread(path, why);
    return;
  }
  paths_.push_back(path);
  if (text.starts_with(byte_order_mark)) {
    text.erase(0, byte_order_mark.size());
  }
  int number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && problem_.empty();) {
    ++number;
    read_line(trimmed(std::string_view(line).substr(0, line.find('#'))), source,
              fmt::format("{}:{}", shown_path(path), number));
  }
}

void Files::note_unread(const std::string& path, const std::string& why) {
  struct stat status {};
  const std::string line = fmt::format("{}: {}", shown_path(path), why);
  const int error = stat(path.c_str(), &status) == 0 ? 0 : errno;
  if (error == ENOENT || error == ENOTDIR) {
    absent_.push_back(path);
    return;
  }
  // Of a folder that is not ours to look into (HOME is somebody else's) nothing is known.
  if (error == EACCES && lstat(path.c_str(), &status) != 0) {
    return;
  }
  // What is wrong with the file itself is the user's to mend; a server that does not answer for his
  // HOME keeps no job from running.
  const bool is_text = error == 0 && S_ISREG(status.st_mode) &&
                       static_cast<std::size_t>(status.st_size) <= longest_text_file;
  const bool may_be_read = error == 0 && access(path.c_str(), R_OK) == 0;
  if (error != ELOOP && (is_text || !may_be_read)) {
    remarks_.push_back(line + "; it is not read");
  } else if (problem_.empty()) {
    problem_ = line;
  }
}

void Files::read_line(std::string_view line, Source source, const std::string& where) {
  if (line.empty()) {
    return;
  }
  if (std::string_view rest = line; rest.starts_with("lock")) {
    rest = trimmed(rest.substr(4));
    if (rest.starts_with('=')) {
      problem_ = fmt::format(
          "{}: '{}' locks nothing: a lock is 'lock NAME = VALUE', as 'lock wait = event'", where,
          shown(line));
      return;
    }
  }
  const bool locked = line.starts_with("lock ") || line.starts_with("lock\t");
  if (locked) {
    line = trimmed(line.substr(5));
  }
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || (locked && source != Source::site)) {
    problem_ = locked && source != Source::site
                   ? fmt::format("{}: only the site's file may lock a setting", where)
                   : fmt::format("{}: a line is NAME = VALUE, not '{}'", where, shown(line));
    return;
  }
  const std::string_view name = trimmed(line.substr(0, equals));
  const std::string_view text = trimmed(line.substr(equals + 1));
  const Setting* setting = find(full_name(name));
  if (setting == nullptr) {
    problem_ = fmt::format("{}: there is no setting '{}' (meantime config lists them)", where,
                           shown(name));
    return;
  }
  if (std::string wrong = settings::problem(*setting, text); !wrong.empty()) {
    problem_ = fmt::format("{}: {}", where, wrong);
    return;
  }
  Value& value = values_[setting - all().data()];
  if (value.locked && source == Source::site) {
    problem_ = fmt::format("{}: {} is locked already, by {}", where, setting->name, value.where);
  } else if (!value.locked) {
    value = {std::string(text), source, where, locked};
  } else if (text != text_of(*setting, value)) {
    value.in_vain = fmt::format("{} as {} says", shown(text), where);
    value.in_vain_of = source;
  }
}

Value Files::value(const Setting& setting, const Environment& environment,
                   const std::optional<std::string>& option) const {
  Value value = values_.empty() ? Value{} : values_[&setting - all().data()];
  const std::string variable = environment(setting.name).value_or("");
  if (value.locked) {
    const std::string_view holds = text_of(setting, value);
    if (option && !same(setting, *option, holds)) {
      value.in_vain = fmt::format("{} as mpiexec's options say", shown(*option));
      value.in_vain_of = Source::launcher;
    } else if (!option && !variable.empty() && !same(setting, variable, holds)) {
      value.in_vain = fmt::format("{} as the environment says", shown(variable));
      value.in_vain_of = Source::environment;
    } else if (option || !variable.empty()) {
      value.in_vain.clear();  // who speaks last agrees
    }
    return value;
  }
  if (option) {
    return {*option, Source::launcher, {}};
  }
  if (!variable.empty()) {
    return {variable, Source::environment, {}};
  }
  return value;
}

std::string source_name(const Value& value) {
  switch (value.source) {
    case Source::preset:
      return "built in";
    case Source::environment:
      return "environment";
    case Source::launcher:
      return "mpiexec";
    default:
      return value.where + (value.locked ? ", locked" : "");
  }
}

std::string overruled(const Setting& setting, const Value& value) {
  return value.in_vain.empty()
             ? std::string()
             : fmt::format("{} stays {}, not {}: {}", setting.name, text_of(setting, value),
                           value.in_vain, source_name(value));
}

std::string told_as(const Setting& setting, const Value& value) {
  return fmt::format("{} {}", setting.name, static_cast<int>(value.in_vain_of));
}

bool is_news(const Value& value) {
  return value.in_vain_of >= Source::environment;
}

std::string first_problem(const Files& files, const Environment& environment) {
  if (!files.problem().empty()) {
    return files.problem();
  }
  for (const Setting& setting : all()) {
    const Value value = files.value(setting, environment);
    if (!value.text.empty()) {
      if (std::string wrong = problem(setting, value.text); !wrong.empty()) {
        return wrong;
      }
    }
  }
  return {};
}

}  // namespace meantime::settings
