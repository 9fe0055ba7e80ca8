// Reading the kernel's small files.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meantime::machine {

/// As many as the kernel's small files have at most: 4096. Of /proc/cpuinfo, which is long, the
/// kernel then makes no more than the first CPUs'. Empty if the file cannot be read.
std::string first_bytes(const std::string& path);
/// Without its end; empty if the file cannot be read.
std::string first_line(const std::string& path);
/// A decimal number alone in its line.
std::optional<std::uint64_t> number_in(const std::string& path);
/// The CPUs, or nodes, of a list: "0-3,8", or "0 1 2 3 8". None if it is no such list.
std::vector<int> numbers_in(const std::string& list);
/// The same, as far as it fits into a set.
cpu_set_t cpus_in(const std::string& list);

}  // namespace meantime::machine
