#include "machine/dma_latency.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace meantime::machine {

int hold_dma_latency(int microseconds, const std::string& root) {
  const int descriptor = open((root + "/dev/cpu_dma_latency").c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    return -errno;
  }
  const std::int32_t value = microseconds;  // four bytes are a number, more would be text
  if (write(descriptor, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) {
    const int error = errno;
    close(descriptor);
    return -error;
  }
  return descriptor;
}

}  // namespace meantime::machine
