// What a guest writes on its standard output and error. In a folder that the user names, a file; or
// else in memory, of which a guest cannot have more than a part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace meantime::guest {

class Log {
 public:
  /// `folder` empty: in memory. What cannot be had is /dev/null.
  Log(const std::string& folder, int number);
  ~Log();
  Log(Log&& other) noexcept;
  Log& operator=(Log&&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// What a guest that has begun at `mark` wrote last: its last line that is not empty.
  [[nodiscard]] std::string last_line(std::uint64_t mark) const;
  /// How far it has come.
  [[nodiscard]] std::uint64_t length() const;

 private:
  int descriptor_ = -1;
};

/// The number of a line "units NUMBER".
std::optional<std::uint64_t> units_in(const std::string& line);

}  // namespace meantime::guest
