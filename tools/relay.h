// What carries packets between nodes that are played, where that takes a while: takes each when a
// node has sent it, and hands it over when it is due. A thread of the process that has the network,
// so that neither is there without the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "line.h"
#include "packet_port.h"

namespace meantime::tools {

/// Port `n` is of the node whose hardware address ends in `n` + 1.
class Relay {
 public:
  Relay(std::vector<PacketPort> ports, std::uint64_t delay_ns,
        const std::optional<Line::Limit>& limit);

  [[noreturn]] void run();

 private:
  void take_all();
  void take(std::size_t from, std::uint64_t came_ns, std::string_view packet);
  void hold(std::size_t to, std::uint64_t came_ns, std::string_view packet);
  void send_what_is_due();

  struct Held {
    std::size_t to;
    std::string packet;
  };

  std::vector<PacketPort> ports_;
  std::vector<Line> lines_;                     ///< to each port
  std::multimap<std::uint64_t, Held> packets_;  ///< by when they are due, and as they came
  std::size_t bytes_ = 0;                       ///< in them
};

}  // namespace meantime::tools
