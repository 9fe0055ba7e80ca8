#include "launch/nodes/meeting.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/clock.h"

namespace meantime::launch {
namespace {

/// An address that does not answer may be of a network that the others are not on.
constexpr double connecting_seconds = 2;

int milliseconds_until(double end) {
  return static_cast<int>(std::max(0.0, end - now_seconds()) * 1000);
}

bool wait_for(int socket, short event, double end) {
  pollfd news{socket, event, 0};
  int found = 0;
  do {
    found = poll(&news, 1, milliseconds_until(end));
  } while (found < 0 && errno == EINTR);
  return found > 0;
}

/// Those that others may reach; if there is none, the loopback's.
std::string addresses_of_machine() {
  ifaddrs* all = nullptr;
  std::string text;
  std::string loopback;
  if (getifaddrs(&all) != 0) {
    return {};
  }
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_UP) == 0) {
      continue;
    }
    char name[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, name,
              sizeof name);
    std::string& list = (one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : text;
    (list += ' ') += name;
  }
  freeifaddrs(all);
  return text.empty() ? loopback : text;
}

int connection_to(const std::string& address, const std::string& port, double end) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = 0;
  socklen_t size = sizeof error;
  const bool made =
      descriptor >= 0 && inet_pton(AF_INET, address.c_str(), &place.sin_addr) == 1 &&
      (connect(descriptor, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 ||
       (errno == EINPROGRESS && wait_for(descriptor, POLLOUT, end) &&
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0));
  if (!made && descriptor >= 0) {
    close(descriptor);
  }
  return made ? descriptor : -1;
}

}  // namespace

std::string open_meeting(int& socket) {
  std::uint64_t secret[2];
  sockaddr_in place{};
  place.sin_family = AF_INET;
  socklen_t size = sizeof place;
  socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0 || getrandom(secret, sizeof secret, 0) != sizeof secret ||
      bind(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0 ||
      listen(socket, SOMAXCONN) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&place), &size) != 0) {
    const int error = errno;
    close(std::exchange(socket, -1));
    errno = error;
    return {};
  }
  return fmt::format("{:016x}{:016x} {}{}", secret[0], secret[1], ntohs(place.sin_port),
                     addresses_of_machine());
}

std::string_view secret_of(std::string_view meeting) {
  return meeting.substr(0, meeting.find(' '));
}

int connection_to_meeting(const std::string& meeting, double seconds) {
  const double end = now_seconds() + seconds;
  std::istringstream words(meeting);
  std::string secret;
  std::string port;
  words >> secret >> port;
  int connection = -1;
  for (std::string address; connection < 0 && now_seconds() < end && words >> address;) {
    connection = connection_to(address, port, std::min(end, now_seconds() + connecting_seconds));
  }
  return connection;
}

void bound_silence(int connection, double seconds) {
  constexpr int on = 1;
  const auto most_ms = static_cast<unsigned>(seconds * 1000);
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms);
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace meantime::launch
