// All packets that a network device takes in, and a way out of it for packets: a packet socket,
// whose ring of memory the kernel fills. A packet is as the device has it, behind a header that
// says what the device has still to do (virtio_net_hdr): so TCP's segments of 64 KiB pass in one
// piece, without a checksum, as between two devices of the kernel. It takes CAP_NET_RAW of the
// device's network namespace, and no file: /dev/net/tun would be another way, but not everybody may
// open it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace meantime::tools {

class PacketPort {
 public:
  PacketPort() = default;
  PacketPort(PacketPort&& other) noexcept;
  PacketPort(const PacketPort&) = delete;
  ~PacketPort();

  /// In the calling thread's network namespace. `ports`: that share the memory there is for rings.
  /// Empty, or what is wrong.
  std::string open(const std::string& device, int ports);

  /// Can be read when there is a packet.
  [[nodiscard]] int descriptor() const { return socket_; }

  /// Of each that is there: when it came, by CLOCK_REALTIME, and what it is, until `take` returns.
  void take_all(const std::function<void(std::uint64_t ns, std::string_view packet)>& take);

  /// One that a port has taken. What the device does not take is lost, as in any network.
  void send(std::string_view packet) const;

  /// Where it is to go, in a packet: six bytes.
  static const unsigned char* destination(std::string_view packet);

 private:
  [[nodiscard]] std::size_t frames() const;

  int socket_ = -1;
  char* ring_ = nullptr;
  std::size_t blocks_ = 0;
  std::size_t next_ = 0;  ///< the frame that the kernel fills next
};

}  // namespace meantime::tools
