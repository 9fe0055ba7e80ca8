// A guest function (guest/function.h) in this process's waits for another MPI.
#pragma once

#include <cstdint>

#include "guest/function.h"

namespace meantime::shim {

/// In MPI_Init; what is wrong is said, and then there is none.
void start_function();
/// In MPI_Finalize. Its account stays.
void finish_function();

/// nullptr: there is none.
guest::Function* function();
node::GuestWork& function_account();

namespace detail {
extern constinit thread_local bool in_slice;
}
/// Of the calling thread.
inline bool in_slice() {
  return detail::in_slice;
}

/// The guest has called what a rank must not call in a wait: the process ends.
[[noreturn]] void end_for(const char* what);

}  // namespace meantime::shim
