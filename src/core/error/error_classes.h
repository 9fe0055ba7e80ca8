// MPI's error classes: their names and what MPI_Error_string says about them.
#pragma once

namespace meantime {

struct ErrorClass {
  int value;
  const char* name;  ///< "MPI_ERR_TAG"
  const char* text;  ///< "invalid tag"
};

/// nullptr for what is no predefined class.
const ErrorClass* find_error_class(int value);

}  // namespace meantime
