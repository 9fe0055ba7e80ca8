#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "elf/elf_file.h"
#include "launch/start/installation.h"
#include "launch/start/program.h"
#include "settings/shown.h"
#include "subcommands.h"

namespace meantime::tools {

int missing(const std::string& program) {
  launch::ResolvedProgram resolved = launch::find_program(program);
  if (resolved.path.empty()) {
    fmt::print(stderr, "meantime: {}\n", settings::shown_lines(resolved.error));
    return 2;
  }
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  launch::Inspection inspection = launch::inspect_program(
      resolved.path, library_path == nullptr ? "" : library_path,
      launch::library_folder() + "/" + std::string(launch::library_file_name));
  if (!inspection.refusal.empty()) {
    fmt::print(stderr, "meantime: {}\n", settings::shown_lines(inspection.refusal));
    return 2;
  }
  if (inspection.kind != launch::ProgramKind::machine_code || !inspection.uses_mpi) {
    const std::string foreign = launch::foreign_processor(resolved.path);
    fmt::print(stderr, "meantime: '{}' is not a program linked to {}{}\n",
               settings::shown_path(resolved.path), launch::library_file_name,
               foreign.empty() ? "" : ": " + foreign);
    return 2;
  }
  for (const std::string& call : inspection.missing_calls) {
    fmt::print("{}\n", settings::shown(call));
  }
  if (inspection.missing_calls.empty()) {
    fmt::print("'{}' imports no MPI call that is missing\n", settings::shown_path(resolved.path));
  }
  return inspection.missing_calls.empty() ? 0 : 1;
}

}  // namespace meantime::tools
