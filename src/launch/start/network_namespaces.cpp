#include "launch/start/network_namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace meantime::launch {

std::string open_network_namespaces(const std::string& held, int count, std::vector<int>& opened) {
  constexpr char digits[] = "0123456789";
  std::size_t place = held.find_first_not_of(digits);
  if (place == 0 || place == std::string::npos || held[place] != ':') {
    return fmt::format("'{}' is not PID:FD,FD,...", held);
  }
  const std::string folder = "/proc/" + held.substr(0, place) + "/fd/";
  while (static_cast<int>(opened.size()) < count) {
    const std::size_t first = place + 1;
    place = std::min(held.find_first_not_of(digits, first), held.size());
    if (first >= place) {
      return fmt::format("there are {} for {} nodes", opened.size(), count);
    }
    const std::string path = folder + held.substr(first, place - first);
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
      return fmt::format("{}: {}{}", path, std::strerror(errno),
                         errno == ENOENT ? " (has the cluster ended?)" : "");
    }
    opened.push_back(descriptor);
    // A number may belong to another process by now.
    if (ioctl(descriptor, NS_GET_NSTYPE) != CLONE_NEWNET) {
      return path + " is no network namespace (has the cluster ended?)";
    }
  }
  return {};
}

}  // namespace meantime::launch
