// MPI 5.0, 15.3.7: performance variables (core/tool/performance.h says which).
#include <algorithm>

#include "api/generated/calls.h"
#include "core/tool/performance.h"
#include "core/tool/text.h"

namespace meantime::api {
namespace {

using tool::PerformanceHandle;
using tool::PerformanceSession;
using tool::PerformanceVariable;

/// nullptr if there is none.
const PerformanceVariable* variable_at(int index) {
  const std::span<const PerformanceVariable> all = tool::performance_variables();
  return index >= 0 && static_cast<std::size_t>(index) < all.size()
             ? &all[static_cast<std::size_t>(index)]
             : nullptr;
}

PerformanceSession* session_behind(MPI_T_pvar_session handle) {
  return object_behind<PerformanceSession>(handle);
}

/// A handle of this session, or nullptr.
PerformanceHandle* handle_of(PerformanceSession& session, MPI_T_pvar_handle handle) {
  const auto found = std::find_if(
      session.handles.begin(), session.handles.end(),
      [&](const auto& own) { return reinterpret_cast<MPI_T_pvar_handle>(own.get()) == handle; });
  return found != session.handles.end() ? found->get() : nullptr;
}

/// Does something with one handle; a code of the tools interface.
template <class Function>
int on_handle(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, Function&& function) {
  PerformanceSession* session = session_behind(pe_session);
  if (session == nullptr) {
    return MPI_T_ERR_INVALID_SESSION;
  }
  PerformanceHandle* one = handle_of(*session, handle);
  return one != nullptr ? function(*one) : MPI_T_ERR_INVALID_HANDLE;
}

/// The same with MPI_T_PVAR_ALL_HANDLES for all of the session for which it makes sense.
template <class Function>
int on_handles(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, Function&& function) {
  PerformanceSession* session = session_behind(pe_session);
  if (session == nullptr || handle != MPI_T_PVAR_ALL_HANDLES) {
    return on_handle(pe_session, handle, function);
  }
  for (const auto& one : session->handles) {
    if (!one->variable.is_level()) {
      function(*one);
    }
  }
  return MPI_SUCCESS;
}

}  // namespace

int T_pvar_get_num(int* num_pvar) {
  if (num_pvar == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  *num_pvar = static_cast<int>(tool::performance_variables().size());
  return MPI_SUCCESS;
}

int T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* readonly, int* continuous, int* atomic) {
  const PerformanceVariable* variable = variable_at(pvar_index);
  if (variable == nullptr) {
    return MPI_T_ERR_INVALID_INDEX;
  }
  const int level = variable->is_level() ? 1 : 0;
  tool::give_text(variable->name, name, name_len);
  tool::give(MPI_T_VERBOSITY_USER_BASIC, verbosity);
  tool::give(variable->variable_class, var_class);
  tool::give(variable->type(), datatype);
  tool::give(MPI_T_ENUM_NULL, enumtype);
  tool::give_text(variable->description, desc, desc_len);
  tool::give(MPI_T_BIND_NO_OBJECT, bind);
  tool::give(level, readonly);
  tool::give(level, continuous);
  tool::give(1 - level, atomic);
  return MPI_SUCCESS;
}

int T_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  if (name == nullptr || pvar_index == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  for (int index = 0; const PerformanceVariable* variable = variable_at(index); ++index) {
    if (variable->name == name && variable->variable_class == var_class) {
      *pvar_index = index;
      return MPI_SUCCESS;
    }
  }
  return MPI_T_ERR_INVALID_NAME;
}

int T_pvar_session_create(MPI_T_pvar_session* pe_session) {
  if (pe_session == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  *pe_session = reinterpret_cast<MPI_T_pvar_session>(new PerformanceSession);
  return MPI_SUCCESS;
}

int T_pvar_session_free(MPI_T_pvar_session* pe_session) {
  PerformanceSession* session = pe_session != nullptr ? session_behind(*pe_session) : nullptr;
  if (session == nullptr) {
    return MPI_T_ERR_INVALID_SESSION;
  }
  delete session;
  *pe_session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

int T_pvar_handle_alloc(MPI_T_pvar_session pe_session, int pvar_index, void* /*obj_handle*/,
                        MPI_T_pvar_handle* handle, int* count) {
  PerformanceSession* session = session_behind(pe_session);
  if (session == nullptr) {
    return MPI_T_ERR_INVALID_SESSION;
  }
  const PerformanceVariable* variable = variable_at(pvar_index);
  if (variable == nullptr) {
    return MPI_T_ERR_INVALID_INDEX;
  }
  if (handle == nullptr || count == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  session->handles.push_back(std::make_unique<PerformanceHandle>(*variable));
  *handle = reinterpret_cast<MPI_T_pvar_handle>(session->handles.back().get());
  *count = 1;
  return MPI_SUCCESS;
}

int T_pvar_handle_free(MPI_T_pvar_session pe_session, MPI_T_pvar_handle* handle) {
  if (handle == nullptr) {
    return MPI_T_ERR_INVALID_HANDLE;
  }
  return on_handle(pe_session, *handle, [&](PerformanceHandle& one) {
    std::erase_if(session_behind(pe_session)->handles,
                  [&](const auto& own) { return own.get() == &one; });
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
  });
}

int T_pvar_start(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return on_handles(pe_session, handle, [](PerformanceHandle& one) { return one.start(); });
}

int T_pvar_stop(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return on_handles(pe_session, handle, [](PerformanceHandle& one) { return one.stop(); });
}

int T_pvar_reset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return on_handles(pe_session, handle, [](PerformanceHandle& one) { return one.reset(); });
}

int T_pvar_read(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) {
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  return on_handle(pe_session, handle, [&](PerformanceHandle& one) {
    one.read(buf);
    return MPI_SUCCESS;
  });
}

int T_pvar_write(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, const void* buf) {
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  return on_handle(pe_session, handle, [&](PerformanceHandle& one) { return one.write(buf); });
}

int T_pvar_readreset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) {
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  return on_handle(pe_session, handle, [&](PerformanceHandle& one) {
    if (one.variable.is_level()) {
      return MPI_T_ERR_PVAR_NO_ATOMIC;
    }
    one.read(buf);
    return one.reset();
  });
}

}  // namespace meantime::api
