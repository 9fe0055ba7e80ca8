// MPI 5.0 chapter 12: one-sided communication. Only what makes sense without any window is there
// yet.
#include <cstring>
#include <string_view>

#include "api/generated/calls.h"
#include "core/error.h"

namespace meantime::api {

int Win_get_name(MPI_Win win, char* win_name, int* resultlen) {
  if (win != MPI_WIN_NULL) {
    return fail(MPI_ERR_WIN, "there are no windows yet, only MPI_WIN_NULL");
  }
  constexpr std::string_view name = "MPI_WIN_NULL";
  std::memcpy(win_name, name.data(), name.size() + 1);
  *resultlen = static_cast<int>(name.size());
  return MPI_SUCCESS;
}

}  // namespace meantime::api
