// Where the measured wake-up cost is kept between jobs: a small text file of the user's, one for
// each kind of machine that shares the folder.
//   folder   $XDG_CACHE_HOME/meantime, or ~/.cache/meantime
//   key      kernel, processor model, idle driver and governor, the two CPUs measured: as long as
//            these are the same, so is the cost
// What is odd (not the user's own, writable by others, not a regular file, another key, a value out
// of bounds, older than a week) is as if it were not there. Nothing here ever fails loudly.
#pragma once

#include <cstdint>
#include <string>

namespace meantime::machine {

class WakeUpCache {
 public:
  WakeUpCache();
  /// For tests: the folder that XDG_CACHE_HOME names, and the machine's key.
  WakeUpCache(std::string cache_home, std::string key);

  /// 0: there is none that can be used.
  [[nodiscard]] std::uint64_t read() const;
  /// Replaces the file as a whole, so that nobody reads half of one. False if it cannot be kept.
  /// Folders that are missing are made, in one of the user's own.
  bool write(std::uint64_t ns) const;
  /// The file; empty if there is no folder for it.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string home_;
  std::string folder_;
  std::string key_;
  std::string path_;
};

/// This machine's key, in lines.
std::string machine_key();

}  // namespace meantime::machine
