// Where Meantime was built without UCX: there is no second node.
#if !__has_include(<ucp/api/ucp.h>)
#include "net/network.h"

namespace meantime::net {

struct Network::Parts {};

Network::Network() = default;
Network::~Network() = default;
std::string Network::open() {
  return "the job has several nodes, and this Meantime was built without UCX (Debian: apt install "
         "libucx-dev, then build it again)";
}
Sent Network::outcome(void*) {
  return Sent::failed;
}
Sent Network::send(Heading&, std::size_t, const void*, std::size_t, bool, Operation&) {
  return Sent::failed;
}
Sent Network::fetch(void*, void*, std::size_t, Operation&) {
  return Sent::failed;
}
bool Network::progress(Receiver*, Poller) {
  return false;
}
void Network::refuse(void*) {}
void Network::take_first_messages() noexcept {}
bool Network::arm() {
  return true;
}
bool Network::arm_for_sleep() {
  return true;
}
bool Network::listen() {
  return false;
}

}  // namespace meantime::net
#endif
