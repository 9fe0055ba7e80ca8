// What a guest writes on its standard output and error. In a folder that the user names, all of it
// in a file; or else a pipe, of which the keeper remembers the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace meantime::guest {

class Log {
 public:
  /// `folder` empty: a pipe. What cannot be had is /dev/null.
  Log(const std::string& folder, int number);
  ~Log();
  Log(Log&& other) noexcept;
  Log& operator=(Log&&) = delete;

  /// The guest's end.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Ours, for poll; -1 of a file.
  [[nodiscard]] int pipe() const { return pipe_; }
  /// Reads some of what is in the pipe. How much that was.
  std::size_t take();
  /// A guest begins.
  void begins();
  /// Of a guest that has ended: its last line that is not empty.
  std::string last_line();

 private:
  int descriptor_ = -1;
  int pipe_ = -1;
  std::string end_;         ///< of what came through the pipe since it began
  std::uint64_t mark_ = 0;  ///< of the file: its length when the guest began
};

/// The number of a line "units NUMBER".
std::optional<std::uint64_t> units_in(const std::string& line);

}  // namespace meantime::guest
