#include "packet_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace meantime::tools {
namespace {

/// Room for the longest packet, 64 KiB, and what the kernel writes before it.
constexpr std::size_t frame_bytes = 68 << 10;
/// A block is one piece of the kernel's memory, which comes in powers of two: 1 MiB.
constexpr std::size_t block_frames = 15;
constexpr std::size_t block_bytes = block_frames * frame_bytes;
/// Of a ring, so that 10 GB/s find room for a millisecond while nobody empties it; and of all rings
/// together.
constexpr int most_blocks = 10, most_blocks_in_all = 200;
/// struct virtio_net_hdr, whose header is none of C++.
constexpr std::size_t header_bytes = 10;
/// For the kernel to hand over what a port has sent before: it does so at once, or when a thread of
/// its own (ksoftirqd) gets a CPU.
constexpr timeval sending_patience{1, 0};

template <class Value>
bool set(int socket, int option, Value value) {
  return setsockopt(socket, SOL_PACKET, option, &value, sizeof value) == 0;
}

}  // namespace

PacketPort::PacketPort(PacketPort&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      ring_(std::exchange(other.ring_, nullptr)),
      blocks_(other.blocks_),
      next_(other.next_) {}

PacketPort::~PacketPort() {
  if (ring_ != nullptr) {
    munmap(ring_, blocks_ * block_bytes);
  }
  if (socket_ >= 0) {
    close(socket_);
  }
}

std::string PacketPort::open(const std::string& device, int ports) {
  blocks_ = static_cast<std::size_t>(std::clamp(most_blocks_in_all / ports, 1, most_blocks));
  socket_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  tpacket_req ring{};
  ring.tp_block_size = block_bytes;
  ring.tp_block_nr = static_cast<unsigned>(blocks_);
  ring.tp_frame_size = frame_bytes;
  ring.tp_frame_nr = static_cast<unsigned>(frames());
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &sending_patience, sizeof sending_patience);
  void* memory = MAP_FAILED;
  if (socket_ >= 0 && set<int>(socket_, PACKET_VERSION, TPACKET_V2) &&
      set<int>(socket_, PACKET_VNET_HDR, 1) && set(socket_, PACKET_RX_RING, ring)) {
    memory = mmap(nullptr, blocks_ * block_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket_, 0);
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
  if (memory != MAP_FAILED) {
    ring_ = static_cast<char*>(memory);
  }
  if (ring_ == nullptr || address.sll_ifindex == 0 ||
      bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fmt::format("packets of {}: {}", device, std::strerror(errno));
  }
  return {};
}

std::size_t PacketPort::frames() const {
  return blocks_ * block_frames;
}

// The kernel writes a frame and then its status, and touches it again once we have given it back.
void PacketPort::take_all(
    const std::function<void(std::uint64_t ns, std::string_view packet)>& take) {
  for (std::size_t left = frames(); left > 0; --left) {
    char* const frame = ring_ + next_ * frame_bytes;
    auto* const about = reinterpret_cast<tpacket2_hdr*>(frame);
    if ((__atomic_load_n(&about->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) {
      return;
    }
    const auto* const from =
        reinterpret_cast<const sockaddr_ll*>(frame + TPACKET_ALIGN(sizeof(tpacket2_hdr)));
    if (from->sll_pkttype != PACKET_OUTGOING) {
      const std::uint64_t ns = std::uint64_t{about->tp_sec} * 1'000'000'000u + about->tp_nsec;
      take(ns, {frame + about->tp_mac - header_bytes, about->tp_snaplen + header_bytes});
    }
    __atomic_store_n(&about->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    next_ = (next_ + 1) % frames();
  }
}

void PacketPort::send(std::string_view packet) const {
  (void)!::send(socket_, packet.data(), packet.size(), 0);
}

const unsigned char* PacketPort::destination(std::string_view packet) {
  return reinterpret_cast<const unsigned char*>(packet.data()) + header_bytes;
}

}  // namespace meantime::tools
