// What a look at sleeping ranks finds.
#pragma once

#include <cstdint>

namespace meantime::wait {

/// Of ranks of one node: a deadlock, unless something comes from another node.
enum class Verdict : std::uint8_t { running, doubt, quiet, deadlock };

/// A hasty look takes the word of an earlier one that a rank has threads outside MPI: a rank that
/// falls asleep ten thousand times a second cannot read /proc each time.
enum class Look : std::uint8_t { hasty, thorough };

}  // namespace meantime::wait
