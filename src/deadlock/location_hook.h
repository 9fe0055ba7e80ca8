// For programs in a language whose calls all return to the same address: where a wait that lasts is
// in the program, as its interpreter says.
#pragma once

#include <cstdint>
#include <string>

namespace meantime::wait {

/// Asked once in a wait that has lasted so long, by the waiting thread, before it sleeps on; null:
/// addresses say where the program is.
inline std::string (*location_hook)() = nullptr;
inline constexpr std::uint64_t location_after_ns = 10'000'000;

}  // namespace meantime::wait
