#include "core/object/handle_names.h"

#include <fmt/format.h>

#include <cstdint>

#include "core/generated/handle_names.inc"

namespace meantime {

std::string handle_name(const void* handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  for (const auto& known : generated_handle_names) {
    if (known.value == value) {
      return known.name;
    }
  }
  return fmt::format("{:#x}", value);
}

}  // namespace meantime
