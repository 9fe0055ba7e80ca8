// A shared library that a setting names (MEANTIME_ENERGY_HANDLER, a guest function), looked at
// before anything is loaded: mpiexec refuses it before the job starts, and the rank looks again at
// what it loads (in its container, with its rights, there may be another file).
#pragma once

#include <string>

namespace meantime::settings {

/// Why the library at `path` is not loaded, in one line; empty if it may be. The file that was
/// looked at is *descriptor then, the caller's.
std::string library_refusal(const std::string& path, int* descriptor);

}  // namespace meantime::settings
