// A program before it is started: which file the name means, what kind of file it is, and whether
// its libraries fit. Reads files, starts nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meantime::launch {

/// Which file a program's name means, as execvp(3) in `directory` would find it.
struct ResolvedProgram {
  std::string path;   ///< empty if there is none to run
  std::string error;  ///< then: one line why
  int status = 0;     ///< then: 127 not found, 126 found but cannot be run
};
ResolvedProgram resolve_program(const std::string& name, const std::string& directory,
                                const std::string& search_path);
/// As the shell that started this process would find it.
ResolvedProgram find_program(const std::string& name);

enum class ProgramKind {
  machine_code,  ///< an ELF file for this processor
  text,          ///< without "#!": /bin/sh runs it, as execvp does
  other,         ///< a script with "#!", or what the kernel may know and we do not
};

struct Inspection {
  ProgramKind kind = ProgramKind::other;
  std::string refusal;                         ///< one line; empty: it may start
  bool uses_mpi = false;                       ///< needs libmpi_abi, itself or through a library
  bool finds_ours = false;                     ///< and would find our copy of it without help
  std::vector<std::string> missing_calls;      ///< imported MPI calls that Meantime has not yet …
  std::vector<std::string> own_missing_calls;  ///< … of them those of the program's own file
};

/// `path` as resolved; `library_path`: LD_LIBRARY_PATH as the program would see it without us;
/// `our_library`: the path of our libmpi_abi.so.1.
Inspection inspect_program(const std::string& path, const std::string& library_path,
                           const std::string& our_library);

/// Whether a library's file has a name of another MPI's, whose ABI is not the standard one.
bool is_other_mpi(std::string_view file_name);

/// The line that names missing calls, without the program's name; at most a few of them.
std::string missing_calls_text(const std::vector<std::string>& calls);

}  // namespace meantime::launch
