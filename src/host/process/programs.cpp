#include "host/process/programs.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "host/image/load_and_unload.h"
#include "host/process/limits.h"
#include "host/process/refusal.h"
#include "protocol/host_main.h"

namespace meantime::host {

std::unique_ptr<Program> open_program(launch::HostProgram& what) {
  auto program = std::make_unique<Program>();
  program->number = what.number;
  char path[PATH_MAX];
  program->file = realpath(what.path.c_str(), path) != nullptr ? path : what.path;
  for (std::string& word : what.words) {
    program->words.push_back(word.data());
  }
  program->words.push_back(nullptr);
  if (const std::string why = program->closure.open(what.path); !why.empty()) {
    refuse(why);
  }
  return program;
}

ThreadRoom find_thread_room(const std::vector<std::unique_ptr<Program>>& programs, char** words,
                            const char* block, std::size_t bytes) {
  std::size_t needed = 0;
  std::size_t alignment = 1;
  for (const auto& program : programs) {
    needed = std::max(needed, program->closure.thread_bytes);
    alignment = std::max(alignment, program->closure.thread_alignment);
  }
  struct Larger {
    const char* name;
    std::size_t bytes;
    std::size_t alignment;
  };
  // As in CMakeLists.txt.
  constexpr Larger larger[] = {{"meantime-host-medium", 32768, 64},
                               {"meantime-host-large", MEANTIME_MOST_PROGRAM_TLS, 4096}};
  constexpr std::size_t usual_alignment = 64;
  if (needed > bytes ||
      (alignment > usual_alignment && bytes < std::size_t{MEANTIME_MOST_PROGRAM_TLS})) {
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    const std::string path(self, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    for (const Larger& each : larger) {
      if (needed <= each.bytes && alignment <= each.alignment && bytes < each.bytes) {
        execv((path.substr(0, path.rfind('/') + 1) + each.name).c_str(), words);
        give_up(fmt::format("cannot run {}: {}", each.name, std::strerror(errno)));
      }
    }
    refuse(fmt::format("'{}' has {} bytes of thread-local variables, {} are the most",
                       programs.front()->words[0], needed, MEANTIME_MOST_PROGRAM_TLS));
  }
  ThreadRoom room;
  void* const host = dlopen(nullptr, RTLD_NOW);
  std::size_t module = 0;
  if (host == nullptr || dlinfo(host, RTLD_DI_TLS_MODID, &module) != 0 || module == 0) {
    give_up("the host has no thread-local block");
  }
  room.module = module;
  room.distance =
      static_cast<std::uint64_t>(static_cast<const char*>(__builtin_thread_pointer()) - block);
  return room;
}

void try_to_load(char** arguments, const char* block, std::size_t bytes) {
  refuse_for_trial();
  launch::HostProgram what{1, 0, arguments[2], {arguments[2]}};
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(open_program(what));
  const ThreadRoom room = find_thread_room(programs, arguments, block, bytes);
  if (arguments[3] != nullptr) {
    std::string counts;
    if (const std::string why =
            load_and_unload(programs.front()->closure, room, std::atoi(arguments[3]), counts);
        !why.empty()) {
      refuse(why);
    }
    [[maybe_unused]] const auto written = write(STDOUT_FILENO, counts.data(), counts.size());
    _exit(0);
  }
  const long others = count_maps();
  Image image;
  if (const std::string why = image.load(programs.front()->closure, 0, room); !why.empty()) {
    refuse(why);
  }
  const std::string maps = fmt::format("{} {}\n", count_maps() - others + maps_of_a_stack, others);
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, maps.data(), maps.size());
  _exit(0);
}

}  // namespace meantime::host
