// MPI 5.0, 15.3.4 and 15.3.5: starting and ending the tools interface, its enumerations.
#include <algorithm>

#include "api/generated/calls.h"
#include "core/object/tables.h"
#include "core/tool/control.h"
#include "core/tool/text.h"

namespace meantime::api {
namespace {

/// nullptr if there is none.
const tool::Enumeration* enumeration_behind(MPI_T_enum handle) {
  for (const tool::ControlVariable& variable : tool::control_variables()) {
    if (variable.enumeration != nullptr && variable.enumeration->handle() == handle) {
      return variable.enumeration;
    }
  }
  return nullptr;
}

}  // namespace

// Every call of the interface holds the rank's lock, so any level is fine.
int T_init_thread(int required, int* provided) {
  if (provided == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  ++core::tables().tool_users;
  *provided = std::clamp<int>(required, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
  return MPI_SUCCESS;
}

int T_finalize() {
  --core::tables().tool_users;
  return MPI_SUCCESS;
}

int T_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  const tool::Enumeration* enumeration = enumeration_behind(enumtype);
  if (enumeration == nullptr) {
    return MPI_T_ERR_INVALID_HANDLE;
  }
  tool::give(static_cast<int>(enumeration->items.size()), num);
  tool::give_text(enumeration->name, name, name_len);
  return MPI_SUCCESS;
}

int T_enum_get_item(MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len) {
  const tool::Enumeration* enumeration = enumeration_behind(enumtype);
  if (enumeration == nullptr) {
    return MPI_T_ERR_INVALID_HANDLE;
  }
  if (indx < 0 || static_cast<std::size_t>(indx) >= enumeration->items.size()) {
    return MPI_T_ERR_INVALID_ITEM;
  }
  tool::give(indx, value);
  tool::give_text(enumeration->items[static_cast<std::size_t>(indx)], name, name_len);
  return MPI_SUCCESS;
}

}  // namespace meantime::api
