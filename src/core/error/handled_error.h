// What is known of an error that an error handler has let pass, for MPI_Error_string. Codes are
// classes (error_codes.h), so the text of one call's failure is kept beside them: the last one of
// each thread.
#pragma once

#include <string>
#include <string_view>

namespace meantime::core {

/// An empty text forgets the last one.
void keep_handled_error(int code, std::string_view call, std::string_view text);
/// "MPI_Send: argument 4 (dest) is 99": if the last error that this thread was told of had this
/// code. Else empty.
std::string handled_error(int code);

}  // namespace meantime::core
