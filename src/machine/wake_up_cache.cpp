#include "machine/wake_up_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "machine/small_file.h"
#include "machine/wake_up_cost.h"

namespace meantime::machine {
namespace {

constexpr std::time_t longest_age_s = 7 * 24 * 3600;

std::string line_with(std::string_view text, std::string_view begin) {
  const std::size_t place = text.find(begin);
  return place == std::string_view::npos
             ? std::string()
             : std::string(text.substr(place, text.find('\n', place) - place));
}

/// One name for each key, the same with every compiler (FNV-1a).
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  }
  return hash;
}

std::string cache_home() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') {  // a relative one is to be ignored, says the standard
    return cache;
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache" : std::string();
}

bool only_ours(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// In a folder of ours only: root with another user's HOME must not leave him a ~/.cache of root's.
void make_folder(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/', path.find_last_not_of('/')) + 1);
  struct stat status {};
  if (stat(parent.c_str(), &status) == 0 && status.st_uid == geteuid()) {
    mkdir(path.c_str(), 0700);  // as the standard has it; often there already
  }
}

/// The folder if it is ours alone, opened; else -1.
int open_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  if (folder >= 0 && (fstat(folder, &status) != 0 || !only_ours(status))) {
    close(folder);
    return -1;
  }
  return folder;
}

bool write_whole(int file, std::string_view text) {
  return ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string machine_key() {
  utsname name{};
  uname(&name);
  const std::string processor = first_bytes("/proc/cpuinfo");
  std::string model = line_with(processor, "model name");
  if (model.empty()) {
    model = line_with(processor, "CPU part");  // of an ARM processor
  }
  std::string key =
      fmt::format("kernel {} {} {}\n{}\n", name.release, name.version, name.machine, model);
  for (const char* what : {"current_driver", "current_governor_ro"}) {
    key += fmt::format("{} {}\n", what,
                       first_line(fmt::format("/sys/devices/system/cpu/cpuidle/{}", what)));
  }
  int first = -1;
  int last = -1;
  choose_cpus(first, last);
  return key + fmt::format("from CPU {} to {}\n", first, last);
}

WakeUpCache::WakeUpCache() : WakeUpCache(cache_home(), machine_key()) {}

WakeUpCache::WakeUpCache(std::string cache_home, std::string key)
    : home_(std::move(cache_home)), key_(std::move(key)) {
  if (!home_.empty()) {
    folder_ = home_ + "/meantime";
    path_ = fmt::format("{}/wake-up-cost-{:016x}", folder_, hash_of(key_));
  }
}

std::uint64_t WakeUpCache::read() const {
  const int folder = path_.empty() ? -1 : open_folder(folder_);
  if (folder < 0) {
    return 0;
  }
  const int file = openat(folder, path_.c_str() + folder_.size() + 1,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  close(folder);
  if (file < 0) {
    return 0;
  }
  std::array<char, 2048> buffer;
  struct stat status {};
  ssize_t bytes = -1;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && only_ours(status) &&
      std::time(nullptr) - status.st_mtime < longest_age_s) {
    bytes = ::read(file, buffer.data(), buffer.size());
  }
  close(file);
  std::string_view text(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  // The key, then "nanoseconds N".
  constexpr std::string_view label = "nanoseconds ";
  if (!text.starts_with(key_) || !text.substr(key_.size()).starts_with(label) ||
      !text.ends_with('\n')) {
    return 0;
  }
  text = text.substr(key_.size() + label.size());
  text.remove_suffix(1);
  std::uint64_t ns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ns);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && ns >= least_wake_up_ns && ns <= most_wake_up_ns ? ns : 0;
}

bool WakeUpCache::write(std::uint64_t ns) const {
  if (path_.empty()) {
    return false;
  }
  make_folder(home_);
  make_folder(folder_);
  const int folder = open_folder(folder_);
  if (folder < 0) {
    return false;
  }
  const char* name = path_.c_str() + folder_.size() + 1;
  const std::string text = fmt::format("{}nanoseconds {}\n", key_, ns);
  const std::string temporary = fmt::format("{}.{}", name, getpid());
  const int file =
      openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool kept = file >= 0 && write_whole(file, text);
  if (file >= 0) {
    close(file);
    kept = kept && renameat(folder, temporary.c_str(), folder, name) == 0;
    if (!kept) {
      unlinkat(folder, temporary.c_str(), 0);
    }
  }
  close(folder);
  return kept;
}

}  // namespace meantime::machine
