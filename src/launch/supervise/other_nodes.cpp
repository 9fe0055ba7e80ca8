#include "launch/supervise/other_nodes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/clock.h"

namespace meantime::launch {
namespace {

/// An address that does not answer may be of a network that the others are not on.
constexpr double connecting_seconds = 2;
constexpr std::size_t most_bytes = std::size_t{1} << 28;
constexpr std::size_t most_guests = 4096;
constexpr char taken = '+';

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

/// All of it, and hears that it was taken.
bool bring(int descriptor, std::string_view text, double end) {
  while (!text.empty()) {
    const ssize_t bytes = send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
    if (bytes > 0) {
      text.remove_prefix(static_cast<std::size_t>(bytes));
    } else if (errno != EAGAIN || !wait_for(descriptor, POLLOUT, end)) {
      return false;
    }
  }
  shutdown(descriptor, SHUT_WR);
  char answer = 0;
  return wait_for(descriptor, POLLIN, end) && recv(descriptor, &answer, 1, 0) == 1 &&
         answer == taken;
}

struct Guest {
  int descriptor = -1;
  std::string text;
  bool gone = false;
};

/// What has come of it. True: all of it.
bool hear(Guest& guest) {
  char part[65536];
  ssize_t bytes = 0;
  while ((bytes = recv(guest.descriptor, part, sizeof part, 0)) > 0 &&
         guest.text.size() < most_bytes) {
    guest.text.append(part, static_cast<std::size_t>(bytes));
  }
  guest.gone = bytes >= 0 || errno != EAGAIN;
  return bytes == 0;
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
    return {};
  }
  return fmt::format("{:016x}{:016x} {}{}", secret[0], secret[1], ntohs(place.sin_port),
                     addresses_of_machine());
}

bool bring_to_meeting(const std::string& meeting, std::string_view text, double seconds) {
  const double end = now_seconds() + seconds;
  std::istringstream words(meeting);
  std::string secret;
  std::string port;
  words >> secret >> port;
  bool brought = false;
  for (std::string address; !brought && now_seconds() < end && words >> address;) {
    const int descriptor =
        connection_to(address, port, std::min(end, now_seconds() + connecting_seconds));
    if (descriptor >= 0) {
      brought = bring(descriptor, secret + std::string(text), end);
      close(descriptor);
    }
  }
  return brought;
}

void hear_meeting(const std::string& meeting, int socket, double seconds,
                  const std::function<bool(std::string_view text)>& take,
                  const std::function<bool()>& all_there) {
  const double end = now_seconds() + seconds;
  const std::string secret = meeting.substr(0, meeting.find(' '));
  std::vector<Guest> guests;
  while (!all_there() && now_seconds() < end) {
    std::vector<pollfd> news{{socket, POLLIN, 0}};
    for (const Guest& guest : guests) {
      news.push_back({guest.descriptor, POLLIN, 0});
    }
    if (poll(news.data(), news.size(), milliseconds_until(end)) < 0 && errno != EINTR) {
      break;
    }
    for (std::size_t index = 0; index < guests.size(); ++index) {
      Guest& guest = guests[index];
      if (news[index + 1].revents != 0 && hear(guest) && guest.text.starts_with(secret) &&
          take(std::string_view(guest.text).substr(secret.size()))) {
        send(guest.descriptor, &taken, 1, MSG_NOSIGNAL);
      }
      if (guest.gone) {
        close(guest.descriptor);
      }
    }
    std::erase_if(guests, [](const Guest& guest) { return guest.gone; });
    const int descriptor = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0 && guests.size() < most_guests) {
      guests.push_back({descriptor, {}, false});
    } else if (descriptor >= 0) {
      close(descriptor);
    }
  }
  for (const Guest& guest : guests) {
    close(guest.descriptor);
  }
}

}  // namespace meantime::launch
