// The kernel's promise about wake-ups: as long as somebody holds /dev/cpu_dma_latency open, no CPU
// of the machine enters an idle state that takes longer to leave than he has written there. The
// kernel takes it back when the last holder of the descriptor is gone, however he ended.
#pragma once

#include <string>

namespace meantime::machine {

/// The descriptor (close-on-exec), or -errno. `root`: the folder that has /dev in it, "" but for
/// tests.
int hold_dma_latency(int microseconds, const std::string& root);

}  // namespace meantime::machine
