#include "net/start_of_ucx.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string>

namespace meantime::net {
namespace {

/// UCX 1.13 calls its threads so.
constexpr char name_of_all[] = "\tasync";

/// What has a number for its name.
std::set<int> numbers_in(const char* folder_name) {
  std::set<int> all;
  if (DIR* const folder = opendir(folder_name); folder != nullptr) {
    while (const dirent* const entry = readdir(folder)) {
      if (std::isdigit(static_cast<unsigned char>(*entry->d_name)) != 0) {
        all.insert(std::atoi(entry->d_name));
      }
    }
    closedir(folder);
  }
  return all;
}

std::set<int> threads_now() {
  return numbers_in("/proc/self/task");
}

std::set<int> descriptors_now() {
  std::set<int> all = numbers_in("/proc/self/fd");
  std::erase_if(all,
                [](int descriptor) { return fcntl(descriptor, F_GETFD) < 0; });  // the folder's
  return all;
}

std::set<int> without(std::set<int> all, const std::set<int>& those) {
  for (const int each : those) {
    all.erase(each);
  }
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

StartOfUcx::StartOfUcx() : threads_before_(threads_now()), descriptors_before_(descriptors_now()) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &signals_before_);
}

StartOfUcx::~StartOfUcx() {
  pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
  for (const int descriptor : descriptors()) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
}

std::uint32_t StartOfUcx::threads() const {
  std::uint32_t found = 0;
  const std::uint64_t blocked = blocked_in(gettid());
  for (const int thread : without(threads_now(), threads_before_)) {
    if (status_of(thread, "Name:") == name_of_all && (blocked_in(thread) & blocked) == blocked) {
      ++found;
    }
  }
  return found;
}

std::set<int> StartOfUcx::descriptors() const {
  return without(descriptors_now(), descriptors_before_);
}

}  // namespace meantime::net
