// What somebody outside reads of a host's thread ranks, in its memory: `meantime ps`, and gdb by
// tools/gdb/meantime.py, which knows this layout too. Written once, before the ranks run; what
// changes is read where the scheduler has it, so a switch costs nothing more. A rank's stack is
// found without asking who runs it: if the stack pointer of a kernel thread lies in it that thread
// runs it, else it was left at the mark.
#pragma once

#include <cstdint>
#include <vector>

namespace meantime::ranks {

struct Fiber;

struct RankView {
  std::uint64_t mark;           ///< address of the fiber's StackMark
  std::uint64_t state;          ///< address of its State, a byte
  std::uint64_t stack_low;      ///< the lowest address of its stack, and …
  std::uint64_t stack_begin;    ///< … where it begins: its own thread parks above
  std::uint64_t control_block;  ///< FS base: its own thread's, and who runs it has it too
  std::int32_t world_rank;
  std::int32_t reserved;
};

inline constexpr std::uint32_t view_version = 1;

struct HostView {
  std::uint32_t version;  ///< view_version
  std::uint32_t ranks;
  std::uint64_t rank;  ///< address of as many RankViews
};

/// Of all fibers of this host, once each has its stack and none has begun.
void show_ranks(const std::vector<Fiber*>& fibers);

}  // namespace meantime::ranks
