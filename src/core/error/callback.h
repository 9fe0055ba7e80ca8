// The one place where the library calls a function of the user's: error handlers, operators, copy
// and delete functions of attributes, functions of generalised requests, energy handlers.
//   thrown     a C++ exception left such a function. It is kept while the library finishes what the
//              function was called for (other ranks may wait for that), and leaves the entry point
//              then, instead of an error
//   passing    what nobody may stop (pthread_exit, pthread_cancel, exceptions of other languages'
//              runtimes) goes through the library at once: its frames have destructors only, which
//              give back the rank's lock
// An error handler is the last thing that an entry point does: whatever leaves it passes.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <utility>

namespace meantime::core {

/// What left the user's functions that this thread's innermost entry point called.
struct Thrown {
  std::exception_ptr* kept = nullptr;
  bool passing = false;
};
extern constinit thread_local Thrown thrown;

/// In a catch block of such a function's caller. Keeps the exception if it is one of C++ (the first
/// one, if there are several), else lets it pass.
void keep_thrown();
/// Throws what was kept for this thread's innermost entry point; returns if nothing was.
void release_thrown();
/// Nobody will get to see what was kept.
void forget_thrown();
/// Whether what a catch block of an entry point caught is on its way out to the user.
inline bool is_passing() {
  return std::exchange(thrown.passing, false);
}

/// The entry point's last step, which may not come back.
template <class Function>
void call_last(Function&& function) {
  struct Mark {
    bool returned = false;
    ~Mark() { thrown.passing = !returned; }
  } mark;
  function();
  mark.returned = true;
}

/// What `function` returns; `otherwise` if it throws.
template <class Result, class Function>
Result call_user(Result otherwise, Function&& function) {
  // Entry points that the function calls have to do with their own callbacks only.
  struct Outer {
    Outer() = default;
    Outer(const Outer&) = delete;
    ~Outer() {
      if (kept != nullptr) {
        delete std::exchange(thrown.kept, kept);
      }
    }
    std::exception_ptr* kept = std::exchange(thrown.kept, nullptr);
  } outer;
  try {
    return function();
  } catch (...) {
    keep_thrown();
    return otherwise;
  }
}

}  // namespace meantime::core
