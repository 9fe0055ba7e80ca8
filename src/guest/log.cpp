#include "guest/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace meantime::guest {
namespace {

/// Of what a guest writes, kept in memory. The rest is refused by the kernel.
constexpr off_t most_in_memory = 1 << 20;
/// A longer line is none that anybody should read.
constexpr std::uint64_t longest_line = 512;

int in_memory() {
  const int file = memfd_create("meantime-guest-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file >= 0 && (ftruncate(file, most_in_memory) != 0 ||
                    fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)) {
    close(file);
    return -1;
  }
  return file;
}

}  // namespace

Log::Log(const std::string& folder, int number)
    : descriptor_(folder.empty() ? in_memory()
                                 : open(fmt::format("{}/guest-{}.log", folder, number).c_str(),
                                        O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    descriptor_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

Log::~Log() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

Log::Log(Log&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

// The guest's descriptors are this one's: where the last one has stopped, the next goes on.
std::uint64_t Log::length() const {
  return static_cast<std::uint64_t>(std::max<off_t>(0, lseek(descriptor_, 0, SEEK_CUR)));
}

std::string Log::last_line(std::uint64_t mark) const {
  char text[longest_line];
  const std::uint64_t end = length();
  const std::uint64_t begin = std::max(mark, end - std::min(end, longest_line));
  const ssize_t bytes =
      end > begin ? pread(descriptor_, text, end - begin, static_cast<off_t>(begin)) : 0;
  std::string_view rest(text, static_cast<std::size_t>(std::max<ssize_t>(0, bytes)));
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ' || rest.back() == '\r')) {
    rest.remove_suffix(1);
  }
  return std::string(rest.substr(rest.rfind('\n') + 1));
}

std::optional<std::uint64_t> units_in(const std::string& line) {
  constexpr std::string_view word = "units ";
  std::uint64_t number = 0;
  if (!line.starts_with(word)) {
    return std::nullopt;
  }
  const char* const end = line.data() + line.size();
  const auto [place, error] = std::from_chars(line.data() + word.size(), end, number);
  return error == std::errc() && place == end ? std::optional(number) : std::nullopt;
}

}  // namespace meantime::guest
