// Copies whose result is not wanted in a cache: what is written goes to memory directly, where a
// plain store would first fetch the line that it is about to overwrite. Worth it where all that is
// copied does not fit into the last cache: a third of the memory traffic is saved.
#pragma once

#include <cstddef>

namespace meantime::coll {

/// memcpy with such stores, where the processor has them. What is written is ordered before later
/// stores, as after memcpy.
void stream(void* to, const void* from, std::size_t bytes);

}  // namespace meantime::coll
