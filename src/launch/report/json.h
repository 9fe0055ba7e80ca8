// What mpiexec writes as JSON.
#pragma once

#include <string>

namespace meantime::launch {

/// A string as JSON has it: UTF-8, whatever bytes a path is of.
std::string quoted(const std::string& text);

}  // namespace meantime::launch
