// What `meantime steal` tells the shim in the environment of the ranks.
#pragma once

namespace meantime::shim {

/// The words that start the keeper (guest/plan.h), but for its socket; the first is its path. Each
/// has `word_end` behind it.
inline constexpr char keeper_variable[] = "MEANTIME_STEAL_KEEPER";
/// Set: also waits that are not in collectives.
inline constexpr char steal_all_variable[] = "MEANTIME_STEAL_ALL";
/// The library of a guest function, an absolute path; how long a slice should be, in ns.
inline constexpr char function_variable[] = "MEANTIME_STEAL_FUNCTION";
inline constexpr char slice_variable[] = "MEANTIME_STEAL_SLICE_NS";
/// How waits sleep: "ade", "naps"; else as our predictor says.
inline constexpr char mode_variable[] = "MEANTIME_STEAL_MODE";
/// ADE's step and threshold (policy/predictor.h), in ns, a blank between them.
inline constexpr char ade_variable[] = "MEANTIME_STEAL_ADE_NS";
/// What guests may cost, in % of the run time.
inline constexpr char most_variable[] = "MEANTIME_STEAL_MAX_OVERHEAD";
inline constexpr const char* variables[] = {keeper_variable, steal_all_variable, function_variable,
                                            slice_variable,  mode_variable,      ade_variable,
                                            most_variable};
inline constexpr char word_end = '\x1f';

}  // namespace meantime::shim
