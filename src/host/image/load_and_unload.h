// For a test of images: whether they leave anything behind.
#pragma once

#include <string>

#include "host/image/closure.h"
#include "host/image/image.h"

namespace meantime::host {

/// Of this process.
long count_maps();

/// Loads and unloads that many images. `counts` is what the process has after the first tenth of
/// them, and at the end: a line "maps descriptors KiB" each. Returns why one cannot be loaded, or
/// nothing.
std::string load_and_unload(const Closure& closure, const ThreadRoom& room, int images,
                            std::string& counts);

}  // namespace meantime::host
