#include "core/object/window.h"

#include <cstdlib>
#include <string_view>

#include "core/object/memory_kinds.h"
#include "match/engine.h"
#include "rank/rank.h"

namespace meantime {

Window::~Window() {
  std::free(allocated);
  if (shared_bytes != 0) {
    self().engine->pool.release(shared, shared_bytes);
  }
  drop(team);
  drop(errhandler);
  drop(info);
}

Window* resolve(MPI_Win handle) {
  return object_behind<Window>(handle);
}

namespace core {
namespace {

struct Hint {
  const char* key;
  const char* standard;  ///< what it is if nobody says anything (MPI 5.0, 12.2.1)
  bool is_boolean;
};
constexpr Hint hints[] = {
    {"no_locks", "false", true},
    {"accumulate_ordering", "rar,raw,war,waw", false},
    {"accumulate_ops", "same_op_no_op", false},
    {"mpi_accumulate_granularity", "0", false},
    {"same_size", "false", true},
    {"same_disp_unit", "false", true},
    {"alloc_shared_noncontig", "false", true},
};

}  // namespace

void* predefined_attribute(Window& window, int key, bool* found) {
  *found = true;
  switch (key) {
    case MPI_WIN_BASE:
      return window.base;
    case MPI_WIN_SIZE:
      return &window.size;
    case MPI_WIN_DISP_UNIT:
      return &window.disp_unit;
    case MPI_WIN_CREATE_FLAVOR:
      return &window.flavor;
    case MPI_WIN_MODEL:
      return &window.model;
    default:
      *found = false;
      return nullptr;
  }
}

void set_hints(Window& window, const Info* info) {
  for (const Hint& hint : hints) {
    const std::string* value = info != nullptr ? info->find(hint.key) : nullptr;
    if (value == nullptr || (hint.is_boolean && *value != "true" && *value != "false")) {
      continue;
    }
    if (window.info == nullptr) {
      window.info = new Info;
    }
    window.info->set(hint.key, *value);
  }
}

Info* visible_hints(const Window& window) {
  Info* info = new Info;
  for (const Hint& hint : hints) {
    const std::string* value = window.info != nullptr ? window.info->find(hint.key) : nullptr;
    info->set(hint.key, value != nullptr ? std::string_view(*value) : hint.standard);
  }
  info->set(memory_kinds_key, memory_kinds_of(*window.team));
  return info;
}

}  // namespace core
}  // namespace meantime
