// A fence of which one side pays everything (Linux' membarrier): for a flag that its owner writes
// all the time and somebody else reads hardly ever.
//   owner:    write mine; light(); read yours
//   other:    write yours; heavy(); read mine
// At least one of the two reads what the other wrote. heavy() makes every running thread of the
// process pass a full fence: either the owner's write came before that fence, then the other reads
// it; or its read comes after, then it reads what the other wrote.
#pragma once

#include <atomic>

namespace meantime::ranks {

class AsymmetricFence {
 public:
  /// Before the first use, again if you like, and at best while the process has one thread: then
  /// the kernel registers it at once. With more it waits for all CPUs to have scheduled
  /// (synchronize_rcu): 15 ms on a machine at work, and up to seconds where the kernel's thread for
  /// that waits for a CPU itself. Without membarrier (a kernel before 4.14, a seccomp filter,
  /// ThreadSanitizer, which does not know it) both sides pay a full fence.
  static void prepare();

  static void light() {
    if (both_pay_) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }
  static void heavy();

 private:
  static inline bool both_pay_ = true;
};

}  // namespace meantime::ranks
