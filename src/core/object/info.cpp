#include "core/object/info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/object/memory_kinds.h"

namespace meantime {

const std::string* Info::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) {
      return &value;
    }
  }
  return nullptr;
}

void Info::set(std::string_view key, std::string_view value) {
  for (auto& [name, old] : entries) {
    if (name == key) {
      old = value;
      return;
    }
  }
  entries.emplace_back(key, value);
}

bool Info::remove(std::string_view key) {
  const auto place = std::find_if(entries.begin(), entries.end(),
                                  [key](const auto& entry) { return entry.first == key; });
  if (place == entries.end()) {
    return false;
  }
  entries.erase(place);
  return true;
}

namespace core {
namespace {

/// This process's command line.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> arguments;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::size_t end = std::min(bytes.find('\0', begin), bytes.size());
    arguments.push_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

}  // namespace

Info* duplicate(const Info* info) {
  Info* copy = new Info;
  if (info != nullptr) {
    copy->entries = info->entries;
  }
  return copy;
}

Info* make_environment_info(const std::vector<std::string>& given) {
  Info* info = new Info;
  const std::vector<std::string> arguments = given.empty() ? command_line() : given;
  if (!arguments.empty()) {
    info->set("command", arguments.front());
    std::string rest;
    for (std::size_t index = 1; index < arguments.size(); ++index) {
      rest += (index > 1 ? " " : "") + arguments[index];
    }
    info->set("argv", rest);
  }
  const char* size = std::getenv("MEANTIME_SIZE");
  const std::string ranks = size != nullptr ? size : "1";
  info->set("maxprocs", ranks);
  info->set("soft", ranks);
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, sizeof host - 1) == 0) {
    info->set("host", host);
  }
  utsname system;
  if (uname(&system) == 0) {
    info->set("arch", system.machine);
  }
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) != nullptr) {
    info->set("wd", directory);
  }
  if (!launchers_memory_kinds().empty()) {  // as it was asked for: the objects say what there is
    info->set(memory_kinds_key, launchers_memory_kinds());
  }
  return info;
}

}  // namespace core
}  // namespace meantime
