// What `meantime steal` tells the shim in the environment of the ranks.
#pragma once

namespace meantime::shim {

/// The keeper's path, then the words that start it (guest/plan.h) without `control`, each but the
/// last with `word_end` behind it.
inline constexpr char keeper_variable[] = "MEANTIME_STEAL_KEEPER";
/// Set: also waits that are not in collectives.
inline constexpr char steal_all_variable[] = "MEANTIME_STEAL_ALL";
inline constexpr char word_end = '\x1f';

}  // namespace meantime::shim
