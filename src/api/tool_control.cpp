// MPI 5.0, 15.3.6: control variables. Each is one of Meantime's settings (core/tool/control.h).
#include "api/generated/calls.h"
#include "core/tool/control.h"
#include "core/tool/text.h"

namespace meantime::api {
namespace {

/// nullptr if there is none.
const tool::ControlVariable* variable_at(int index) {
  const std::span<const tool::ControlVariable> all = tool::control_variables();
  return index >= 0 && static_cast<std::size_t>(index) < all.size()
             ? &all[static_cast<std::size_t>(index)]
             : nullptr;
}

}  // namespace

int T_cvar_get_num(int* num_cvar) {
  if (num_cvar == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  *num_cvar = static_cast<int>(tool::control_variables().size());
  return MPI_SUCCESS;
}

int T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* scope) {
  const tool::ControlVariable* variable = variable_at(cvar_index);
  if (variable == nullptr) {
    return MPI_T_ERR_INVALID_INDEX;
  }
  tool::give_text(variable->setting->name, name, name_len);
  tool::give(variable->verbosity, verbosity);
  tool::give(variable->type, datatype);
  tool::give(variable->enumeration != nullptr ? variable->enumeration->handle() : MPI_T_ENUM_NULL,
             enumtype);
  tool::give_text(tool::description_of(*variable), desc, desc_len);
  tool::give(MPI_T_BIND_NO_OBJECT, bind);
  tool::give(variable->scope, scope);
  return MPI_SUCCESS;
}

int T_cvar_get_index(const char* name, int* cvar_index) {
  if (name == nullptr || cvar_index == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  for (int index = 0; const tool::ControlVariable* variable = variable_at(index); ++index) {
    if (variable->setting->name == name) {
      *cvar_index = index;
      return MPI_SUCCESS;
    }
  }
  return MPI_T_ERR_INVALID_NAME;
}

int T_cvar_handle_alloc(int cvar_index, void* /*obj_handle*/, MPI_T_cvar_handle* handle,
                        int* count) {
  const tool::ControlVariable* variable = variable_at(cvar_index);
  if (variable == nullptr) {
    return MPI_T_ERR_INVALID_INDEX;
  }
  if (handle == nullptr || count == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  *handle = reinterpret_cast<MPI_T_cvar_handle>(new tool::ControlHandle(*variable));
  *count = variable->count;
  return MPI_SUCCESS;
}

int T_cvar_handle_free(MPI_T_cvar_handle* handle) {
  auto* object = handle != nullptr ? object_behind<tool::ControlHandle>(*handle) : nullptr;
  if (object == nullptr) {
    return MPI_T_ERR_INVALID_HANDLE;
  }
  delete object;
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int T_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  const auto* object = object_behind<tool::ControlHandle>(handle);
  if (object == nullptr) {
    return MPI_T_ERR_INVALID_HANDLE;
  }
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  tool::read(object->variable, buf);
  return MPI_SUCCESS;
}

int T_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  const auto* object = object_behind<tool::ControlHandle>(handle);
  if (object == nullptr) {
    return MPI_T_ERR_INVALID_HANDLE;
  }
  return buf == nullptr ? MPI_T_ERR_INVALID : tool::write(object->variable, buf);
}

}  // namespace meantime::api
