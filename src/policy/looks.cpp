#include "policy/looks.h"

namespace meantime::wait {

constinit thread_local LooksOfThreads::Thread* LooksOfThreads::known = nullptr;

/// A thread is known by the address of a variable of its own. One that has ended may have left the
/// address to another one: what it looked for ends with the first look of that one, which comes
/// late. Of many threads those that have not looked for longest make room.
Looks& LooksOfThreads::find() {
  Thread* unused = nullptr;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->thread == &known) {
      known = thread.get();
      return known->looks;
    }
    if (!thread->looks.napping &&
        (unused == nullptr || thread->looks.now_ns() < unused->looks.now_ns())) {
      unused = thread.get();
    }
  }
  if (threads_.size() < many || unused == nullptr) {
    unused = threads_.emplace_back(std::make_unique<Thread>()).get();
  }
  unused->thread = &known;
  unused->looks.found();
  known = unused;
  return known->looks;
}

}  // namespace meantime::wait
