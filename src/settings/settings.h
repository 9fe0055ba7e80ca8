// Every setting of Meantime in one table: what the library reads, what mpiexec checks, what
// `meantime config` lists and what a tool interface may offer.
//   setting   a name as in the environment, MEANTIME_..., and what makes sense for it
//   value     a text; what makes no sense is refused before anything starts
// Where values come from is sources.h's. Knows nothing of MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace meantime::settings {

enum class Kind : std::uint8_t { word, count, bytes, microseconds, text };

/// When it may change.
enum class Scope : std::uint8_t {
  live,   ///< also while the program runs: MPIX_Setting_set, some as info key of a communicator
  start,  ///< read in MPI_Init
  test,   ///< the same, for Meantime's own tests
};

/// What "infinity" means as a number.
inline constexpr std::uint64_t infinity = ~std::uint64_t{0};

struct Setting {
  std::string_view name;
  Kind kind;
  Scope scope;
  std::string_view preset;                  ///< what holds if nobody says anything, for people
  std::span<const std::string_view> words;  ///< of Kind::word; of numbers: understood, too
  std::uint64_t least = 0;                  ///< of numbers
  std::uint64_t most = 0;                   ///< infinity: "infinity" is understood, too
  std::string_view meaning;
};

std::span<const Setting> all();
/// nullptr if there is none of this name.
const Setting* find(std::string_view name);

/// One line about what is wrong with this value of it; empty if it makes sense.
std::string problem(const Setting& setting, std::string_view value);

/// The number that a value is, or nothing. Numbers are decimal; bytes take K, M and G (KiB ...).
std::optional<std::uint64_t> number(const Setting& setting, std::string_view value);
/// Whether both mean the same: "0100" and "100", "4M" and "4096K".
bool same(const Setting& setting, std::string_view one, std::string_view other);

}  // namespace meantime::settings
