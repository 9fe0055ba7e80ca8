#include "guest/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace meantime::guest {
namespace {

/// A longer line is none that anybody should read.
constexpr std::size_t longest_line = 512;
/// Of what is read at once. A guest that writes more waits until it is read again.
constexpr std::size_t most_at_once = 64 * 1024;

/// How long a file is that several write to, each at its end.
std::uint64_t length(int file) {
  return static_cast<std::uint64_t>(std::max<off_t>(0, lseek(file, 0, SEEK_END)));
}

}  // namespace

Log::Log(const std::string& folder, int number) {
  int ends[2];
  if (!folder.empty()) {
    descriptor_ = open(fmt::format("{}/guest-{}.log", folder, number).c_str(),
                       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  } else if (pipe2(ends, O_CLOEXEC) == 0) {
    descriptor_ = ends[1];
    pipe_ = ends[0];
    fcntl(pipe_, F_SETFL, O_NONBLOCK);  // ours, not the guest's
  }
  if (descriptor_ < 0) {
    descriptor_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

Log::~Log() {
  for (const int descriptor : {descriptor_, pipe_}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

Log::Log(Log&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      end_(std::move(other.end_)),
      mark_(other.mark_) {}

std::size_t Log::take() {
  std::array<char, most_at_once> piece;
  const ssize_t bytes = read(pipe_, piece.data(), piece.size());
  if (bytes <= 0) {
    return 0;
  }
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t kept = std::min(size, longest_line);
  end_.append(piece.data() + size - kept, kept);
  end_.erase(0, end_.size() - std::min(end_.size(), longest_line));
  return size;
}

void Log::begins() {
  end_.clear();
  mark_ = pipe_ < 0 ? length(descriptor_) : 0;
}

std::string Log::last_line() {
  if (pipe_ >= 0) {
    while (take() == most_at_once) {
    }
  } else {
    const std::uint64_t end = length(descriptor_);
    const std::uint64_t begin = std::max(mark_, end - std::min<std::uint64_t>(end, longest_line));
    end_.resize(end > begin ? end - begin : 0);
    const ssize_t bytes = pread(descriptor_, end_.data(), end_.size(), static_cast<off_t>(begin));
    end_.resize(static_cast<std::size_t>(std::max<ssize_t>(0, bytes)));
  }
  std::string_view rest = end_;
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
