#include "host/process/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "elf/elf_file.h"
#include "host/image/load_and_unload.h"
#include "host/process/refusal.h"
#include "node/address_limit.h"
#include "protocol/rank_addresses.h"

namespace meantime::host {
namespace {

/// Of this process's addresses.
std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * elf::page;
}

bool files_are_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// What may have been in the way.
const char* limits_of(int error) {
  const bool few = node::address_limit() != node::no_address_limit;
  switch (error) {
    case ENOMEM:
      return few ? " (ulimit -v limits the address space; process ranks need less of it)"
             : files_are_limited() ? " (ulimit -f limits files, as which shared memory counts)"
                                   : "";
    case EAGAIN:
      return few ? " (is the number of threads limited by ulimit -u, or the address space by "
                   "ulimit -v? process ranks need less of it)"
                 : " (is the number of threads limited by ulimit -u?)";
    default:
      return "";
  }
}

}  // namespace

std::size_t guard_bytes(int ranks, std::size_t stack) {
  constexpr std::uint64_t most = std::uint64_t{256} << 20;
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  const std::uint64_t limit = node::address_limit();
  if (limit == node::no_address_limit) {
    return most;
  }
  const auto count = static_cast<std::uint64_t>(ranks);
  const std::uint64_t needed = mapped_bytes() + node::addresses_of_segment(limit) +
                               count * (stack + launch::addresses_of_malloc);
  const std::uint64_t left = limit - std::min(limit, needed);
  return std::clamp(left / 2 / count, least, most) & ~std::uint64_t{elf::page - 1};
}

void check_map_limit(int ranks, long maps_before_first) {
  const long maps = count_maps();
  const long of_a_rank = maps - maps_before_first + maps_of_a_stack;
  const long needed = maps + of_a_rank * ranks;
  const char* const for_a_test = std::getenv("MEANTIME_TEST_MOST_MAPS");
  long limit = for_a_test != nullptr ? std::atol(for_a_test) : 0;
  std::ifstream file("/proc/sys/vm/max_map_count");
  if ((limit > 0 || file >> limit) && needed > limit) {
    give_up(fmt::format(
        "{} thread ranks of this program need {} memory maps, vm.max_map_count is {}: use "
        "--ranks-per-process {}, process ranks, or sysctl vm.max_map_count={}",
        ranks, needed, limit, std::max(1L, (limit / 5 * 4 - maps) / of_a_rank),
        needed + needed / 4));
  }
}

void give_up_starting(int ranks, int error) {
  give_up(fmt::format("{} thread ranks cannot be started: {}{}", ranks, std::strerror(error),
                      limits_of(error)));
}

}  // namespace meantime::host
