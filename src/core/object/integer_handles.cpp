#include "core/object/integer_handles.h"

#include "core/object/object.h"

namespace meantime::core {

int IntegerHandles::number_of(const void* handle) {
  if (is_predefined(handle)) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle));
  }
  const auto next = static_cast<int>(predefined_handle_limit + handles_.size());
  const auto [place, is_new] = numbers_.try_emplace(handle, next);
  if (is_new) {
    handles_.push_back(handle);
  }
  return place->second;
}

void* IntegerHandles::handle_of(int number) const {
  if (number < 0) {
    return nullptr;
  }
  if (number < static_cast<int>(predefined_handle_limit)) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  }
  const auto index = static_cast<std::size_t>(number) - predefined_handle_limit;
  return index < handles_.size() ? const_cast<void*>(handles_[index]) : nullptr;
}

}  // namespace meantime::core
