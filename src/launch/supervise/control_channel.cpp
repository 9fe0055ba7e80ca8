#include "launch/supervise/control_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace meantime::launch {

void ControlChannel::prepare(int socket) {
  int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

ControlChannel::Outcome ControlChannel::receive(int socket) {
  iovec part{packet_, sizeof packet_};
  alignas(cmsghdr) char credentials[CMSG_SPACE(sizeof(ucred))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = credentials;
  header.msg_controllen = sizeof credentials;
  const ssize_t bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
    return Outcome::nothing;
  }
  if (bytes <= 0) {
    return Outcome::hung_up;
  }
  sender = -1;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_CREDENTIALS) {
      ucred who{};
      std::memcpy(&who, CMSG_DATA(item), sizeof who);
      sender = who.pid > 0 ? who.pid : -1;
    }
  }
  if (bytes < static_cast<ssize_t>(sizeof message)) {
    return Outcome::foreign;
  }
  std::memcpy(&message, packet_, sizeof message);
  if (message.magic != control_magic) {
    return Outcome::foreign;
  }
  const std::size_t behind = static_cast<std::size_t>(bytes) - sizeof message;
  text = {packet_ + sizeof message, std::min<std::size_t>(message.text_bytes, behind)};
  return Outcome::message;
}

}  // namespace meantime::launch
