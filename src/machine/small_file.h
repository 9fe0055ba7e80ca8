// Reading the kernel's small files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace meantime::machine {

/// As many as the kernel's small files have at most: 4096. Of /proc/cpuinfo, which is long, the
/// kernel then makes no more than the first CPUs'. Empty if the file cannot be read.
std::string first_bytes(const std::string& path);
/// Without its end; empty if the file cannot be read.
std::string first_line(const std::string& path);
/// A decimal number alone in its line.
std::optional<std::uint64_t> number_in(const std::string& path);

}  // namespace meantime::machine
