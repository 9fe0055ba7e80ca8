#include "host/image/closure.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <set>

#include "elf/library_search.h"
#include "protocol/private_libraries.h"

namespace meantime::host {
namespace {

void put_in_order(const Closure& closure, int member, std::vector<char>& seen,
                  std::vector<int>& order) {
  if (seen[static_cast<std::size_t>(member)] != 0) {
    return;
  }
  seen[static_cast<std::size_t>(member)] = 1;
  for (int needed : closure.members[static_cast<std::size_t>(member)]->needs) {
    put_in_order(closure, needed, seen, order);
  }
  order.push_back(member);
}

/// Data of shared libraries that a program may have a copy of: they never change.
bool is_constant(const std::string& name) {
  constexpr std::string_view known[] = {
      "in6addr_any",   "in6addr_loopback", "sys_siglist", "_sys_siglist",  "sys_errlist",
      "_sys_errlist",  "sys_nerr",         "_sys_nerr",   "sys_sigabbrev", "_nl_msg_cat_cntr",
      "__fpu_control", "h_errlist",        "h_nerr"};
  return std::find(std::begin(known), std::end(known), name) != std::end(known) ||
         // Sanitizers'. The second is a cache, whose copies stay empty.
         name == "__asan_option_detect_stack_use_after_return" || name == "__ubsan_vptr_type_cache";
}

}  // namespace

std::string Closure::open(const std::string& program) {
  if (std::string why = open_members(program); !why.empty()) {
    return why;
  }
  std::vector<char> seen(members.size());
  put_in_order(*this, 0, seen, order);
  if (std::string why = load_shared_libraries(shared_paths_); !why.empty()) {
    return why;
  }
  if (std::string why = find_copy_sources(); !why.empty()) {
    return why;
  }
  find_data_words();
  if (std::string why = place_thread_blocks(); !why.empty()) {
    return why;
  }
  find_thread_words();
  wants_executable_stack = std::ranges::any_of(
      members, [](const auto& member) { return member->file.wants_executable_stack(); });
  return {};
}

std::string Closure::open_members(const std::string& program) {
  const char* const library_path = std::getenv("LD_LIBRARY_PATH");
  std::deque<launch::LoadedFile> files;  // addresses stay
  std::map<std::string, int> known;      // by the name that it is needed under
  std::set<std::string> shared;
  const auto find = [&](const std::string& library, std::size_t by) {
    return launch::find_library(library, files[by], library_path != nullptr ? library_path : "")
        .path;
  };
  const auto add = [&](const std::string& path, const launch::LoadedFile* loader) -> std::string {
    launch::LoadedFile& file = files.emplace_back();
    file.path = path;
    file.loader = loader;
    auto member = std::make_unique<Member>();
    if (std::string why = member->file.open(path, launch::is_private_library); !why.empty()) {
      return why;
    }
    if (!file.elf.open(path)) {
      return fmt::format("'{}' cannot be read", path);
    }
    members.push_back(std::move(member));
    return {};
  };
  if (std::string why = add(program, nullptr); !why.empty()) {
    return why;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = *members[i];
    for (const std::string& library : member.file.private_libraries()) {
      auto [place, is_new] = known.try_emplace(library, static_cast<int>(members.size()));
      if (is_new) {
        const std::string path = find(library, i);
        if (path.empty()) {
          return fmt::format("'{}' needs {}, which is not found", member.file.path(), library);
        }
        if (std::string why = add(path, &files[i]); !why.empty()) {
          return why;
        }
      }
      member.needs.push_back(place->second);
    }
    for (const std::string& library : member.file.shared_libraries()) {
      // Ours is loaded, whatever else the program would find.
      if (!launch::is_our_library(library) && shared.insert(library).second) {
        shared_paths_.push_back(library);
        shared_paths_.push_back(find(library, i));
      }
    }
  }
  return {};
}

/// Names and paths in turns. Copies do not ask for them (ElfTemplate), so they are there before.
std::string Closure::load_shared_libraries(const std::vector<std::string>& paths) {
  for (std::size_t i = 0; i + 1 < paths.size(); i += 2) {
    const char* const name = paths[i].c_str();
    if (dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) != nullptr) {
      continue;
    }
    // Where the program would find it; then its name is asked for once more, because the linker
    // goes by names when it looks whether a copy has the versions that it wants.
    if (dlopen(paths[i + 1].empty() ? name : paths[i + 1].c_str(), RTLD_NOW | RTLD_GLOBAL) ==
        nullptr) {
      return fmt::format("'{}' needs {}: {}", members[0]->file.path(), paths[i], dlerror());
    }
    dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }
  return {};
}

/// As the run-time linker would for a program: the first library that has it, in order of loading.
std::string Closure::find_copy_sources() {
  const std::vector<CopiedData>& copied = members[0]->file.copied_data();
  copy_sources.resize(copied.size());
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const Definition found = find(copied[i].name.c_str(), 1, nullptr);
    if (found.symbol != nullptr) {
      copy_sources[i] = {found.member, found.symbol->st_value};
    } else if (datum_named(copied[i].name) == Datum::count && !is_constant(copied[i].name)) {
      return fmt::format("'{}' uses the variable {} of a library that all ranks have in common",
                         members[0]->file.path(), copied[i].name);
    }
  }
  return {};
}

/// A program may have a variable of its own by such a name (environ, timezone), or its own getopt.
void Closure::find_data_words() {
  const auto is_own = [&](const std::string& name) {
    const Definition found = find(name.c_str(), 0, nullptr);
    return found.symbol != nullptr &&
           std::ranges::none_of(members[static_cast<std::size_t>(found.member)]->file.copied_data(),
                                [&](const CopiedData& data) { return data.name == name; });
  };
  std::map<std::string, bool> own;
  for (std::size_t member = 0; member < members.size(); ++member) {
    for (const DataReference& reference : members[member]->file.data_references()) {
      const auto [place, is_new] = own.try_emplace(reference.name, false);
      if (is_new) {
        place->second = is_own(reference.name);
      }
      if (!place->second) {
        data_words.push_back({static_cast<int>(member), &reference});
      }
    }
  }
}

Closure::Definition Closure::find(const char* name, int from, const char* version) const {
  std::call_once(index_made_, [this] {
    for (std::size_t member = 0; member < members.size(); ++member) {
      members[member]->file.for_each_definition_of_any_version(
          [&](const char* defined, const Elf64_Sym& symbol, bool old) {
            index_.emplace(defined, Entry{static_cast<int>(member), &symbol, old});
          });
    }
  });
  Definition best{-1, nullptr};
  const auto [begin, end] = index_.equal_range(name);
  for (auto each = begin; each != end; ++each) {
    const Entry& entry = each->second;
    if (entry.member < from || (best.symbol != nullptr && best.member <= entry.member)) {
      continue;
    }
    const char* const has =
        version == nullptr
            ? ""
            : members[static_cast<std::size_t>(entry.member)]->file.version_of(*entry.symbol);
    const bool right =
        version == nullptr ? !entry.old : *has == '\0' || std::string_view(has) == version;
    if (right) {
      best = {entry.member, entry.symbol};
    }
  }
  return best;
}

}  // namespace meantime::host
