// Error codes and their texts: the standard's classes and what the user added to them. A code of
// Meantime's own calls always is a class; only users make codes that are not.
#pragma once

#include <string_view>

namespace meantime::core {

/// "MPI_ERR_RANK"; empty for what the user made or nobody knows.
std::string_view error_name(int code);
/// What MPI_Error_string says; "unknown error code" if nobody knows it.
std::string_view error_text(int code);
/// The class of a code; MPI_ERR_UNKNOWN if nobody knows it.
int error_class(int code);
bool is_error_code(int code);

// What MPI_Add_error_class … and MPI_Remove_error_class … do.
int add_error_class(int* error_class);
int add_error_code(int error_class, int* code);
int add_error_string(int code, std::string_view text);
int remove_error_class(int error_class);
int remove_error_code(int code);
int remove_error_string(int code);

}  // namespace meantime::core
