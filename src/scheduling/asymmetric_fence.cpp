#include "scheduling/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace meantime::ranks {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool known_to_the_sanitizer = false;
#else
constexpr bool known_to_the_sanitizer = true;
#endif

}  // namespace

void AsymmetricFence::prepare() {
  both_pay_ = !known_to_the_sanitizer ||
              syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

void AsymmetricFence::heavy() {
  if (both_pay_ || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace meantime::ranks
