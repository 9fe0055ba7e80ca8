// `meantime config`: every setting, its value for a program that is started here, and who said so.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "launch/installation.h"
#include "machine/wake_up_cache.h"
#include "settings/sources.h"
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

}  // namespace

int config() {
  const settings::Environment environment = settings::own_environment();
  settings::Files files;
  files.read(launch::prefix(), environment);
  int status = 0;
  if (!files.problem().empty()) {
    fmt::print(stderr, "meantime: {}\n", files.problem());
    status = 1;
  }
  for (const settings::Setting& setting : settings::all()) {
    const settings::Value value = files.value(setting, environment);
    if (setting.scope == settings::Scope::test && value.text.empty()) {
      continue;
    }
    fmt::print("{:<24} {:<12} # {}; {}\n", setting.name,
               value.text.empty() ? setting.preset : std::string_view(value.text),
               settings::source_name(value), setting.meaning);
    if (setting.name == "MEANTIME_WAKE_UP_COST" && (value.text.empty() || value.text == "auto")) {
      fmt::print("{}", measured());
    }
    if (const std::string wrong =
            value.text.empty() ? std::string() : settings::problem(setting, value.text);
        !wrong.empty()) {
      std::fflush(stdout);
      fmt::print(stderr, "meantime: {}\n", wrong);
      status = 1;
    }
  }
  fmt::print("\n# files: {}\n",
             files.paths().empty() ? "none" : fmt::to_string(fmt::join(files.paths(), ", ")));
  return status;
}

}  // namespace meantime::tools
