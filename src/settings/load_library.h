// Libraries that a setting names: loaded as they were looked at.
#pragma once

#include <string>

namespace meantime::settings {

/// Empty, and *handle is dlopen's; or why it is not loaded, in one line.
std::string load_library(const std::string& path, void** handle);

}  // namespace meantime::settings
