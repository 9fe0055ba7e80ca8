// Changing from one stack to another in user space, on x86-64: the registers that a called function
// keeps, the rounding modes, and the thread control block (the FS base), by which errno and all
// thread-local data belong to whoever the stack is of.
//   stack mark   where a stack was left; nullptr means nothing
// Measured against Boost.Context 1.74 in bench/limits (docs/decisions/0006-own-switch.md).
#pragma once

#include <cstdint>

namespace meantime::ranks {

#if defined(__x86_64__)

using StackMark = void*;

/// Leaves this stack, whose mark is stored in `*from`, and goes on where `to` was left. Returns
/// when somebody switches to `*from`. The caller has set the FS base before, and touches nothing
/// thread-local in between.
extern "C" void meantime_switch_stack(StackMark* from, StackMark to);

/// A stack that begins at `top` and will call `entry(argument)`, which must not return.
StackMark new_stack(void* top, void (*entry)(void*), void* argument);

/// The FS base of the calling thread: glibc keeps it in the control block's first word.
inline std::uintptr_t control_block() {
  std::uintptr_t address;
  asm("mov %%fs:0, %0" : "=r"(address));
  return address;
}

/// Whether user space may write the FS base (Linux 5.9 on processors since Ivy Bridge); else each
/// change is a system call.
bool has_fsgsbase();
void set_control_block_by_call(std::uintptr_t address);

inline void set_control_block(std::uintptr_t address, bool by_instruction) {
  if (by_instruction) [[likely]] {
    asm volatile("wrfsbase %0" : : "r"(address) : "memory");
  } else {
    set_control_block_by_call(address);
  }
}

#endif

}  // namespace meantime::ranks
