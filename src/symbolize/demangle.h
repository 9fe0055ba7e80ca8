// Names of C++ functions as people write them.
#pragma once

#include <string>
#include <string_view>

namespace meantime::launch {

/// Each "(_Z…" of a backtrace made readable.
std::string demangled(std::string_view text);

}  // namespace meantime::launch
