#include "machine/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace meantime::machine {

std::string first_bytes(const std::string& path) {
  std::array<char, 4096> text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const ssize_t bytes = file < 0 ? -1 : read(file, text.data(), text.size());
  if (file >= 0) {
    close(file);
  }
  return {text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

std::string first_line(const std::string& path) {
  std::string line = first_bytes(path);
  line.resize(std::min(line.find('\n'), line.size()));
  line.resize(line.find_last_not_of(" \r") + 1);
  return line;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  const std::string line = first_line(path);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  return error == std::errc() && end == line.data() + line.size() ? std::optional(number)
                                                                  : std::nullopt;
}

std::vector<int> numbers_in(const std::string& list) {
  constexpr long most = 1 << 20;
  std::vector<int> numbers;
  const char* at = list.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    long last = first;
    if (*end == '-') {
      const char* const from = end + 1;
      last = std::strtol(from, &end, 10);
      if (end == from) {
        return {};
      }
    }
    for (long number = first; number <= std::min(last, most); ++number) {
      numbers.push_back(static_cast<int>(number));
    }
    at = *end == ',' || *end == ' ' ? end + 1 : end;
  }
  return *at == '\0' ? numbers : std::vector<int>();
}

cpu_set_t cpus_in(const std::string& list) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : numbers_in(list)) {
    if (cpu < CPU_SETSIZE) {
      CPU_SET(cpu, &cpus);
    }
  }
  return cpus;
}

}  // namespace meantime::machine
