#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "launch/start/installation.h"
#include "launch/start/program.h"
#include "launch/thread_ranks/thread_check.h"
#include "settings/shown.h"
#include "subcommands.h"

namespace meantime::tools {

int check(const std::string& program) {
  const char* search = std::getenv("PATH");
  const launch::ResolvedProgram resolved =
      launch::resolve_program(program, "", search == nullptr ? "/usr/bin:/bin" : search);
  if (resolved.path.empty()) {
    fmt::print(stderr, "meantime: {}\n", settings::shown_lines(resolved.error));
    return 2;
  }
  if (launch::host_program().empty()) {
    fmt::print(stderr, "meantime: this installation has no thread ranks\n");
    return 2;
  }
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  const launch::ThreadVerdict verdict = launch::check_for_threads(
      resolved.path, launch::with_our_libraries(library_path == nullptr ? "" : library_path), true);
  const bool can = verdict.problems.empty();
  fmt::print("{}: {}\n", settings::shown_path(resolved.path),
             !can                    ? verdict.problems.size() == verdict.of_build
                                           ? "processes only, as it is built; ok as threads after this"
                                           : "processes only"
             : verdict.doubt.empty() ? "ok as threads (mpiexec --as threads)"
                                     : "processes with --as auto; --as threads if you know better");
  for (const std::string& problem : verdict.problems) {
    fmt::print("  {}\n", settings::shown_lines(problem));
  }
  for (const std::string& note : verdict.notes) {
    fmt::print("  note: {}\n", settings::shown_lines(note));
  }
  if (can && !verdict.level_note.empty()) {
    fmt::print("  note: {}\n", settings::shown_lines(verdict.level_note));
  }
  if (can && !verdict.doubt.empty()) {
    fmt::print("  {}\n", settings::shown_lines(verdict.doubt));
  }
  return can && verdict.doubt.empty() ? 0 : 1;
}

}  // namespace meantime::tools
