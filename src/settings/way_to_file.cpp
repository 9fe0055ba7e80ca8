#include "settings/way_to_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "settings/shown.h"

namespace meantime::settings {
namespace {

constexpr int most_links = 40;  // as in the kernel

/// In a container of a user without rights root has no number, and its folders belong to nobody
/// that can be named. Who could rename "/" there could do anything.
bool is_unnamed_root(uid_t owner) {
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  std::ifstream map("/proc/self/uid_map");
  if (!(map >> first >> outside >> count) || count == 0xffffffff) {
    return false;
  }
  uid_t unnamed = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> unnamed;
  return owner == unnamed;
}

bool is_trusted(uid_t owner) {
  return owner == 0 || owner == geteuid() || is_unnamed_root(owner);
}

/// One folder or link on the way.
std::string step_problem(const std::string& path, const struct stat& status) {
  if (!is_trusted(status.st_uid)) {
    return fmt::format("'{}' on the way to it belongs to somebody else than you or root",
                       shown_path(path));
  }
  if (S_ISDIR(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
      (status.st_mode & S_ISVTX) == 0) {
    return fmt::format("'{}' on the way to it may be written by others", shown_path(path));
  }
  return {};
}

std::string without_last(const std::string& folder) {
  const std::size_t slash = folder.rfind('/');
  return slash == 0 || slash == std::string::npos ? "" : folder.substr(0, slash);
}

}  // namespace

std::string way_problem(const std::string& path, const struct stat& file) {
  struct stat status {};
  std::string here;  // "" is the root
  std::string left = path;
  int links = 0;
  if (lstat("/", &status) != 0) {
    return std::strerror(errno);
  }
  if (std::string problem = step_problem("/", status); !problem.empty()) {
    return problem;
  }
  while (left.find_first_not_of('/') != std::string::npos) {
    left.erase(0, left.find_first_not_of('/'));
    const std::string part = left.substr(0, left.find('/'));
    left.erase(0, part.size());
    if (part == "." || part == "..") {
      here = part == ".." ? without_last(here) : here;
      continue;
    }
    const std::string next = here + "/" + part;
    if (lstat(next.c_str(), &status) != 0) {
      return std::strerror(errno);
    }
    if (S_ISREG(status.st_mode)) {
      break;
    }
    if (std::string problem = step_problem(next, status); !problem.empty()) {
      return problem;
    }
    if (!S_ISLNK(status.st_mode)) {
      here = next;
      continue;
    }
    char target[PATH_MAX];
    const ssize_t length = readlink(next.c_str(), target, sizeof target);
    if (length < 0 || ++links > most_links) {
      return std::strerror(length < 0 ? errno : ELOOP);
    }
    left = std::string(target, static_cast<std::size_t>(length)) + left;
    here = target[0] == '/' ? "" : here;
  }
  return status.st_dev == file.st_dev && status.st_ino == file.st_ino
             ? std::string()
             : "somebody is just replacing it";
}

}  // namespace meantime::settings
