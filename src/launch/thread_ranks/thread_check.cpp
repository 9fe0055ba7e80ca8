#include "launch/thread_ranks/thread_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "elf/elf_file.h"
#include "elf/library_search.h"
#include "launch/thread_ranks/host_trial.h"
#include "launch/thread_ranks/thread_deny_list.h"
#include "protocol/host_main.h"
#include "protocol/private_libraries.h"
#include "settings/shown.h"

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

/// libNAME.so.1 is linked by -lNAME.
std::string library_option(const std::string& library) {
  const std::size_t begin = library.starts_with("lib") ? 3 : 0;
  return library.substr(begin, library.find(".so") - begin);
}

class Check {
 public:
  Check(const std::string& path, const std::string& library_path) : library_path_(library_path) {
    files_.emplace_back();
    files_.front().path = path;
  }

  ThreadVerdict run(bool trial) {
    if (!files_.front().elf.open(files_.front().path)) {
      const std::string foreign = foreign_processor(files_.front().path);
      problem(foreign.empty() ? "it is a script, or no program at all" : foreign);
      return std::move(verdict_);
    }
    look_at_shape();
    find_libraries();
    find_definitions();
    for (const LoadedFile& file : files_) {
      if (!is_run_time(file_name(file.path))) {
        // With an instrument's run time linked into it, its names are that one's.
        if (!look_at_instruments(file) || !has_its_run_time(file)) {
          look_at_names(file);
        }
      }
    }
    if (!asks_for_level_.empty() && !starts_threads_.empty()) {
      verdict_.doubt = fmt::format(
          "{} and {}: thread ranks have MPI_THREAD_FUNNELED at most; if no other thread than the "
          "one that starts MPI calls it, --as threads runs it",
          asks_for_level_, starts_threads_);
    } else if (!asks_for_level_.empty()) {
      verdict_.level_note = fmt::format(
          "{}: thread ranks are given MPI_THREAD_FUNNELED at most; if the program insists on more, "
          "start it as processes",
          asks_for_level_);
    }
    if (trial && verdict_.problems.empty() && !runs_when_loaded()) {
      if (const std::string why = try_to_load(files_.front().path, library_path_); !why.empty()) {
        problem(why);
      }
    }
    return std::move(verdict_);
  }

 private:
  /// Names of libraries and functions are in it: it stays one line.
  void problem(const std::string& text) {
    verdict_.problems.push_back(settings::shown(text, settings::any_length));
  }
  /// One that goes away if the same source is built in another way.
  void problem_of_build(const std::string& text) {
    problem(text);
    ++verdict_.of_build;
  }

  /// Then the trial would not do what it promises: to run nothing of the program.
  bool runs_when_loaded() {
    for (const LoadedFile& file : files_) {
      if (!is_run_time(file_name(file.path)) && file.elf.runs_when_loaded()) {
        verdict_.notes.push_back(fmt::format(
            "{} was not loaded for a trial: loading it would run functions of it, which "
            "choose others (IFUNC)",
            file_name(file.path)));
        return true;
      }
    }
    return false;
  }

  void look_at_shape() {
    const ElfFile& program = files_.front().elf;
    if (!program.dynamic() || program.without_interpreter()) {
      problem_of_build("it is linked statically; link it without -static or -static-pie");
    } else if (!program.position_independent()) {
      problem_of_build("it is linked for one address; build it with -fPIE and link it with -pie");
    }
    if (program.thread_bytes() > MEANTIME_MOST_PROGRAM_TLS) {
      problem(fmt::format("it has {} bytes of thread-local variables, {} are the most",
                          program.thread_bytes(), MEANTIME_MOST_PROGRAM_TLS));
    }
  }

  /// All files that each rank will have a copy of.
  void find_libraries() {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < files_.size() && files_.size() < 1000; ++i) {
      for (const std::string& library : files_[i].elf.needed()) {
        if (is_our_library(library) || !seen.insert(library).second || is_denied(library)) {
          continue;
        }
        LoadedFile next;
        next.path = find_library(library, files_[i], library_path_).path;
        next.loader = &files_[i];
        if (next.path.empty()) {
          problem(fmt::format("{} is not found, which {} needs; tell LD_LIBRARY_PATH its folder",
                              library, file_name(files_[i].path)));
        } else if (is_private_library(library) && next.elf.open(next.path)) {
          files_.push_back(std::move(next));
        }
      }
    }
  }

  bool is_denied(const std::string& library) {
    if (const Denied* const row = row_of(denied_libraries, library); row != nullptr) {
      problem(sentence(library, *row));
      return true;
    }
    if (is_sanitized) {
      return false;
    }
    if (const Denied* const row = row_of(denied_instrument_libraries, library); row != nullptr) {
      problem_of_build(sentence(library, *row));
      return true;
    }
    return false;
  }
  template <class Rows>
  static const Denied* row_of(const Rows& rows, const std::string& library) {
    for (const Denied& row : rows) {
      bool denied = false;
      for_each_word(row.names,
                    [&](std::string_view prefix) { denied |= library.starts_with(prefix); });
      if (denied) {
        return &row;
      }
    }
    return nullptr;
  }

  /// Which of the names in question the program or one of its libraries defines: then that is
  /// meant, and not libc's.
  void find_definitions() {
    std::unordered_set<std::string_view> wanted;
    const auto want = [&](const auto& rows) {
      for (const Denied& row : rows) {
        for_each_word(row.names, [&](std::string_view name) { wanted.insert(name); });
      }
    };
    want(denied_imports);
    want(denied_definitions);
    want(denied_data);
    want(shared_answers);
    for (const LoadedFile& file : files_) {
      const bool run_time = is_run_time(file_name(file.path));
      file.elf.for_each_definition([&](const char* name) {
        if (const auto found = wanted.find(name);
            found != wanted.end() && !(run_time && name[0] == '_')) {
          definers_.try_emplace(*found, file_name(file.path));
        }
      });
    }
  }

  void look_at_names(const LoadedFile& file) {
    const std::vector<std::string> list = file.elf.imports("");
    const std::set<std::string, std::less<>> imports(list.begin(), list.end());
    const std::string name_of_file = file_name(file.path);
    const std::string by = file.loader == nullptr ? "" : " (in " + name_of_file + ")";
    if (!is_binding_of_ours(name_of_file)) {
      look_at_threads(list, by);
    }
    const auto takes_from_libc = [&](std::string_view name) {
      return imports.count(name) != 0 && definers_.count(name) == 0;
    };
    const auto defines = [&](std::string_view name) {
      const auto found = definers_.find(name);
      return found != definers_.end() && found->second == name_of_file;
    };
    const auto look = [&](const auto& rows, const auto& matters) {
      for (const Denied& row : rows) {
        for_each_word(row.names, [&](std::string_view name) {
          if (matters(name)) {
            problem(sentence(fmt::format("{}{}", name, by), row));
          }
        });
      }
    };
    look(denied_imports, takes_from_libc);
    for (const Denied& row : denied_definitions) {
      for_each_word(row.names, [&](std::string_view name) {
        if (defines(name)) {
          const std::string text = sentence(fmt::format("{}{}", name, by), row);
          // A library goes with its option, if the program needs nothing else of it.
          file.loader == nullptr
              ? problem(text)
              : problem_of_build(fmt::format("{} -l{}", text, library_option(name_of_file)));
        }
      });
    }
    look(denied_data,
         [&](std::string_view name) { return takes_from_libc(name) || defines(name); });
    for (const Denied& row : shared_answers) {
      for_each_word(row.names, [&](std::string_view name) {
        if (takes_from_libc(name)) {
          verdict_.notes.push_back(fmt::format("{}{} {}", name, by, row.reason));
        }
      });
    }
  }

  /// What it may need a thread level for that thread ranks do not have.
  void look_at_threads(const std::vector<std::string>& imports, const std::string& by) {
    struct Maker {
      std::string_view imported;
      std::string_view called;
    };
    constexpr Maker makers[] = {{"pthread_create", "pthread_create"},
                                {"thrd_create", "thrd_create"},
                                {"_ZNSt6thread15_M_start_thread", "std::thread"},
                                {"GOMP_parallel", "OpenMP"},
                                {"__kmpc_fork_call", "OpenMP"}};
    for (const std::string& name : imports) {
      // Fortran's are mpi_init_thread_ and the like.
      if (asks_for_level_.empty() &&
          (name == "MPI_Init_thread" || name.starts_with("mpi_init_thread"))) {
        asks_for_level_ = "MPI_Init_thread" + by;
      }
      for (const Maker& maker : makers) {
        if (starts_threads_.empty() && name.starts_with(maker.imported)) {
          starts_threads_ = std::string(maker.called) + by;
        }
      }
    }
  }

  bool look_at_instruments(const LoadedFile& file) {
    bool any = false;
    for (const Denied& row : denied_instruments) {
      if (is_sanitized) {
        break;
      }
      bool has = false;
      for_each_word(row.names, [&](std::string_view prefix) {
        has = has || file.elf.has_symbol(std::string(prefix));
      });
      if (has) {
        problem_of_build(sentence(file_name(file.path), row));
        any = true;
      }
    }
    return any;
  }
  /// Of an instrument: a sanitizer's comes with an allocator, that of stacks in pieces always.
  bool has_its_run_time(const LoadedFile& file) const {
    const auto found = definers_.find("malloc");
    return (found != definers_.end() && found->second == file_name(file.path)) ||
           file.elf.has_symbol("__morestack");
  }

  const std::string library_path_;
  std::deque<LoadedFile> files_;  ///< addresses stay
  std::map<std::string_view, std::string> definers_;
  std::string asks_for_level_;  ///< "MPI_Init_thread"
  std::string starts_threads_;  ///< "pthread_create (in libapp.so)"
  ThreadVerdict verdict_;
};

}  // namespace

ThreadVerdict check_for_threads(const std::string& path, const std::string& library_path,
                                bool trial) {
  return Check(path, library_path).run(trial);
}

}  // namespace meantime::launch
