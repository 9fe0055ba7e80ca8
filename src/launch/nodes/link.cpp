#include "launch/nodes/link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace meantime::launch {
namespace {

constexpr int last_ms = 2'000;

struct Heading {
  std::uint32_t kind;
  std::int32_t number;
  std::uint64_t bytes;
};

}  // namespace

Link::~Link() {
  if (connection_ >= 0) {
    close(connection_);
  }
}

Link::Link(Link&& other) noexcept
    : connection_(std::exchange(other.connection_, -1)),
      patience_ms_(other.patience_ms_),
      most_bytes_(other.most_bytes_),
      heard_(std::move(other.heard_)),
      deaf_(other.deaf_),
      has_spoken_(other.has_spoken_),
      given_up_(other.given_up_) {}

bool Link::send(LinkKind kind, std::int32_t number, std::string_view text) {
  const Heading heading{static_cast<std::uint32_t>(kind), number, text.size()};
  std::string all(reinterpret_cast<const char*>(&heading), sizeof heading);
  all += text;
  for (std::string_view rest = all; !rest.empty() && !deaf_;) {
    const ssize_t bytes = ::send(connection_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (bytes > 0) {
      rest.remove_prefix(static_cast<std::size_t>(bytes));
      continue;
    }
    const bool full = errno == EAGAIN;
    pollfd ready{connection_, POLLOUT, 0};
    deaf_ = errno != EINTR && !(full && poll(&ready, 1, patience_ms_) > 0);
    if (deaf_ && full) {
      give_up();
    }
  }
  return !deaf_;
}

void Link::give_up() {
  given_up_ = deaf_ = true;
  shutdown(connection_, SHUT_RDWR);  // readable from now on
}

bool Link::receive(LinkMessage& message) {
  for (;;) {
    Heading heading{};
    bool wrong = false;
    if (heard_.size() >= sizeof heading) {
      std::memcpy(&heading, heard_.data(), sizeof heading);
      wrong =
          heading.kind >= static_cast<std::uint32_t>(LinkKind::lost) || heading.bytes > most_bytes_;
      if (!wrong && heard_.size() >= sizeof heading + heading.bytes) {
        message = {static_cast<LinkKind>(heading.kind), heading.number,
                   heard_.substr(sizeof heading, heading.bytes)};
        heard_.erase(0, sizeof heading + heading.bytes);
        return true;
      }
    }
    char part[65536];
    const ssize_t bytes = wrong ? 0 : recv(connection_, part, sizeof part, 0);
    const int error = bytes < 0 ? errno : 0;
    if (bytes > 0) {
      has_spoken_ = true;
      heard_.append(part, static_cast<std::size_t>(bytes));
    } else if (error == EAGAIN) {
      return false;
    } else if (error != EINTR) {
      message = {LinkKind::lost, given_up_ || error == ETIMEDOUT ? fell_silent : 0, {}};
      return true;
    }
  }
}

void Link::finish() {
  shutdown(connection_, SHUT_WR);
  char part[4096];
  pollfd news{connection_, POLLIN, 0};
  // What is not read would make the kernel throw away what is still on its way (RFC
  // 1122, 4.2.2.13).
  while (poll(&news, 1, last_ms) > 0 && recv(connection_, part, sizeof part, 0) > 0) {
  }
}

}  // namespace meantime::launch
