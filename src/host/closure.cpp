#include "host/closure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string_view>
#include <unordered_map>

#include "launch/library_search.h"
#include "launch/private_libraries.h"

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

/// As the run-time linker would for a program: the first library that has it, in order of loading.
void find_copy_sources(Closure& closure) {
  const std::vector<CopiedData>& copied = closure.members[0]->file.copied_data();
  std::unordered_map<std::string_view, std::size_t> wanted;
  for (std::size_t i = 0; i < copied.size(); ++i) {
    wanted.emplace(copied[i].name, i);
  }
  closure.copy_sources.resize(copied.size());
  for (std::size_t member = 1; member < closure.members.size() && !wanted.empty(); ++member) {
    closure.members[member]->file.for_each_definition([&](const char* name, std::uint64_t address) {
      if (const auto found = wanted.find(name); found != wanted.end()) {
        closure.copy_sources[found->second] = {static_cast<int>(member), address};
        wanted.erase(found);
      }
    });
  }
}

/// In a process of its own, a program's calls go to the first that defines them, and the libraries
/// before MPI's come first. In a host MPI's library is there before all images, so the run-time
/// linker takes its calls for everybody: the wrappers of a profiling library would never run.
void find_wrapped_calls(Closure& closure) {
  std::unordered_map<std::string, Closure::Source> wrappers;
  for (std::size_t member = 0; member < closure.members.size(); ++member) {
    closure.members[member]->file.for_each_definition([&](const char* name, std::uint64_t address) {
      if (std::strncmp(name, "MPI", 3) == 0) {
        wrappers.try_emplace(name, Closure::Source{static_cast<int>(member), address});
      }
    });
  }
  if (wrappers.empty()) {
    return;
  }
  for (std::size_t member = 0; member < closure.members.size(); ++member) {
    for (const CallReference& reference : closure.members[member]->file.call_references()) {
      if (const auto found = wrappers.find(reference.name); found != wrappers.end()) {
        closure.wrapped_calls.push_back(
            {static_cast<int>(member), reference.address, found->second, reference.addend});
      }
    }
  }
}

}  // namespace

std::string open_closure(const std::string& program, Closure& closure) {
  const char* const library_path = std::getenv("LD_LIBRARY_PATH");
  std::deque<launch::LoadedFile> files;  // addresses stay
  std::map<std::string, int> known;      // by the name that it is needed under
  const auto add = [&](const std::string& path, const launch::LoadedFile* loader,
                       bool is_executable) -> std::string {
    launch::LoadedFile& file = files.emplace_back();
    file.path = path;
    file.loader = loader;
    auto member = std::make_unique<Member>();
    if (std::string why = member->file.open(path, is_executable, launch::is_private_library);
        !why.empty()) {
      return why;
    }
    if (!file.elf.open(path)) {
      return fmt::format("'{}' cannot be read", path);
    }
    closure.members.push_back(std::move(member));
    return {};
  };
  if (std::string why = add(program, nullptr, true); !why.empty()) {
    return why;
  }
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    Member& member = *closure.members[i];
    for (const std::string& library : member.file.private_libraries()) {
      auto [place, is_new] = known.try_emplace(library, static_cast<int>(closure.members.size()));
      if (is_new) {
        const std::string path =
            launch::find_library(library, files[i], library_path != nullptr ? library_path : "")
                .path;
        if (path.empty()) {
          return fmt::format("'{}' needs {}, which is not found", member.file.path(), library);
        }
        if (std::string why = add(path, &files[i], false); !why.empty()) {
          return why;
        }
      }
      member.needs.push_back(place->second);
    }
  }
  std::vector<char> seen(closure.members.size());
  put_in_order(closure, 0, seen, closure.order);
  find_copy_sources(closure);
  find_wrapped_calls(closure);
  return {};
}

}  // namespace meantime::host
