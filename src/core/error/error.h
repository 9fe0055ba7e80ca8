// How an error travels: a core function returns an MPI error code (MPI_SUCCESS or a class) and, if
// it knows more, leaves one line of text for this thread. The entry point that called it hands both
// to the error handler of the object the call was on. No exception leaves an entry point.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <string>
#include <string_view>

namespace meantime {

/// The text that belongs to the last failure of this thread; empty when nobody left one.
std::string_view error_detail();
void set_error_detail(std::string text);

/// Leaves a text and returns `error_class`: `return fail(MPI_ERR_COUNT, "count is {}", count);`
template <class... Arguments>
[[nodiscard]] int fail(int error_class, fmt::format_string<Arguments...> text,
                       Arguments&&... arguments) {
  set_error_detail(fmt::format(text, std::forward<Arguments>(arguments)...));
  return error_class;
}

/// MPI_ERR_NO_MEM: the segment is full, and why.
[[nodiscard]] int fail_for_shared_memory(std::string_view for_what);

}  // namespace meantime
