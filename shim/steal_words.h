// What `meantime steal` tells the shim in the environment of the ranks.
#pragma once

namespace meantime::shim {

/// The words that start the keeper (guest/plan.h), but for its socket; the first is its path. Each
/// has `word_end` behind it.
inline constexpr char keeper_variable[] = "MEANTIME_STEAL_KEEPER";
/// Set: also waits that are not in collectives.
inline constexpr char steal_all_variable[] = "MEANTIME_STEAL_ALL";
inline constexpr char word_end = '\x1f';

}  // namespace meantime::shim
