#include "policy/test_loop.h"

namespace meantime::wait {

constinit thread_local TestLoops::Thread* TestLoops::known = nullptr;

/// A thread is known by the address of a variable of its own. One that has ended may have left the
/// address to another one: what it tested for ends with the first test of that one, which comes
/// late. Of many threads those that have not tested for longest make room.
TestLoop& TestLoops::find() {
  Thread* unused = nullptr;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->thread == &known) {
      known = thread.get();
      return known->loop;
    }
    if (!thread->loop.napping &&
        (unused == nullptr || thread->loop.now_ns() < unused->loop.now_ns())) {
      unused = thread.get();
    }
  }
  if (threads_.size() < many || unused == nullptr) {
    unused = threads_.emplace_back(std::make_unique<Thread>()).get();
  }
  unused->thread = &known;
  unused->loop.found();
  known = unused;
  return known->loop;
}

}  // namespace meantime::wait
