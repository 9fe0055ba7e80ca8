#include "net/threads_of_ucx.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace meantime::net {
namespace {

/// UCX 1.13 calls them so.
constexpr char name_of_all[] = "\tasync";

std::set<int> threads() {
  std::set<int> all;
  if (DIR* const folder = opendir("/proc/self/task"); folder != nullptr) {
    while (const dirent* const entry = readdir(folder)) {
      all.insert(std::atoi(entry->d_name));
    }
    closedir(folder);
  }
  all.erase(0);
  return all;
}

/// Of a thread what the kernel says of it under that name.
std::string status_of(int thread, const std::string& name) {
  std::ifstream file(fmt::format("/proc/self/task/{}/status", thread));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) {
      return line.substr(name.size());
    }
  }
  return {};
}

/// One that has not run yet has even more blocked than it will have.
std::uint64_t blocked_in(int thread) {
  return std::strtoull(status_of(thread, "SigBlk:").c_str(), nullptr, 16);
}

}  // namespace

ThreadsOfUcx::ThreadsOfUcx() : before_(threads()) {}

std::uint32_t ThreadsOfUcx::count() const {
  std::uint32_t found = 0;
  const std::uint64_t blocked = blocked_in(gettid());
  for (const int thread : threads()) {
    if (before_.count(thread) == 0 && status_of(thread, "Name:") == name_of_all &&
        (blocked_in(thread) & blocked) == blocked) {
      ++found;
    }
  }
  return found;
}

}  // namespace meantime::net
