// What the kernel, or whoever has set a limit, allows a host that wants hundreds of stacks, memory
// maps and descriptors.
#pragma once

#include <cstddef>

namespace meantime::host {

inline constexpr long maps_of_a_stack = 2;

/// Below each stack. So large because an array that is larger than what is left of the stack begins
/// far below it: with a guard of a few pages that would be another rank's stack. It costs addresses
/// only; where those are limited (ulimit -v) all guards together take half of what the node's
/// segment, the stacks and malloc's arenas leave.
std::size_t guard_bytes(int ranks, std::size_t stack);
/// Before hundreds of images are loaded in vain: the kernel limits the pieces of an address space.
void check_map_limit(int ranks, long maps_before_first);
/// Says which limit may have been in the way.
[[noreturn]] void give_up_starting(int ranks, int error);

}  // namespace meantime::host
