#include "launch/thread_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>

#include "host/host_main.h"
#include "launch/elf_file.h"
#include "launch/library_search.h"
#include "launch/private_libraries.h"
#include "launch/thread_deny_list.h"

namespace meantime::launch {
namespace {

/// Run-time libraries of compilers: what they import they use in a way that is each copy's own.
bool is_run_time(std::string_view library) {
  constexpr std::string_view known[] = {"libstdc++.so", "libgfortran.so", "libquadmath.so",
                                        "libgomp.so",   "libatomic.so",   "libz.so",
                                        "libc++.so",    "libc++abi.so",   "libomp.so"};
  return std::any_of(std::begin(known), std::end(known),
                     [&](std::string_view name) { return library.starts_with(name); });
}

template <class Found>
void for_each_word(std::string_view words, Found&& found) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) {
      found(words.substr(0, end));
    }
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

std::string sentence(const std::string& what, const Denied& row) {
  return fmt::format("{}: {}{}{}", what, row.reason, row.remedy.empty() ? "" : "; ", row.remedy);
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void look_at_imports(const LoadedFile& file, const std::set<std::string>& imports,
                     ThreadVerdict& verdict) {
  const std::string by = file.loader == nullptr ? "" : " (in " + file_name(file.path) + ")";
  for (const Denied& row : denied_imports) {
    for_each_word(row.names, [&](std::string_view name) {
      if (imports.count(std::string(name)) != 0) {
        verdict.problems.push_back(sentence(fmt::format("{}{}", name, by), row));
      }
    });
  }
  for (const Denied& row : shared_answers) {
    for_each_word(row.names, [&](std::string_view name) {
      if (imports.count(std::string(name)) != 0) {
        verdict.notes.push_back(fmt::format("{}{} {}", name, by, row.reason));
      }
    });
  }
}

void look_at_instruments(const LoadedFile& file, ThreadVerdict& verdict) {
  for (const Denied& row : denied_instruments) {
    for_each_word(row.names, [&](std::string_view prefix) {
      if (file.elf.has_symbol(std::string(prefix))) {
        verdict.problems.push_back(sentence(file_name(file.path), row));
      }
    });
  }
}

void look_at_shape(const LoadedFile& file, ThreadVerdict& verdict) {
  if (!file.elf.dynamic()) {
    verdict.problems.emplace_back("it is linked statically; link it without -static");
  } else if (!file.elf.position_independent()) {
    verdict.problems.emplace_back(
        "it is linked for one address; build it with -fPIE and link it with -pie");
  }
  if (file.elf.thread_bytes() > MEANTIME_MOST_PROGRAM_TLS) {
    verdict.problems.push_back(
        fmt::format("it has {} bytes of thread-local variables, {} are the most",
                    file.elf.thread_bytes(), MEANTIME_MOST_PROGRAM_TLS));
  }
}

}  // namespace

ThreadVerdict check_for_threads(const std::string& path, const std::string& library_path) {
  ThreadVerdict verdict;
  std::deque<LoadedFile> files;  // addresses stay
  files.emplace_back();
  files.front().path = path;
  if (!files.front().elf.open(path)) {
    verdict.problems.emplace_back("it is no program for this processor");
    return verdict;
  }
  look_at_shape(files.front(), verdict);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < files.size() && files.size() < 1000; ++i) {
    const LoadedFile& file = files[i];
    if (!is_run_time(file_name(file.path))) {
      const std::vector<std::string> names = file.elf.imports("");
      look_at_imports(file, {names.begin(), names.end()}, verdict);
      look_at_instruments(file, verdict);
    }
    for (const std::string& library : file.elf.needed()) {
      if (!is_private_library(library) || !seen.insert(library).second) {
        continue;
      }
      bool denied = false;
      for (const Denied& row : denied_libraries) {
        for_each_word(row.names, [&](std::string_view prefix) {
          if (library.starts_with(prefix)) {
            denied = true;
            verdict.problems.push_back(sentence(library, row));
          }
        });
      }
      const FoundLibrary found = find_library(library, file, library_path);
      if (denied || found.path.empty()) {
        continue;
      }
      LoadedFile next;
      next.path = found.path;
      next.loader = &file;
      if (next.elf.open(found.path)) {
        files.push_back(std::move(next));
      }
    }
  }
  return verdict;
}

}  // namespace meantime::launch
