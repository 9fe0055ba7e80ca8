// The network of nodes that this machine plays: a network namespace for each, in which a device,
// eth0, is joined to others in a namespace of its own: by a bridge, or by a relay (relay.h) if
// packets are to take a while. Nothing of it has a name outside: the process that has made it holds
// descriptors, and with these all is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meantime::tools {

/// How fast a node's device is, both ways.
struct Rate {
  std::string text;  ///< as tc takes it
  double bytes_per_second;
};
/// Of "1gbit", "100mbit", "2.5gbit"; nothing if it is none.
std::optional<Rate> rate_of(const std::string& text);
/// Nanoseconds of "50us", "1ms"; nothing if it is no time, or more than ten seconds.
std::optional<std::uint64_t> delay_of(const std::string& text);

/// Each has neighbours to know, and an address in one network.
inline constexpr int most_nodes = 250;

class PlayedNetwork {
 public:
  /// `delay_ns`: of what a node sends; nothing: as long as it takes. In a process of one thread,
  /// which may be in a user namespace of its own afterwards, with the rights in it that nodes take,
  /// for whom it executes, too; a relay is a second thread of it. Empty, or one line why there is
  /// no network; then the process is of no use.
  std::string make(int nodes, const std::optional<Rate>& rate,
                   const std::optional<std::uint64_t>& delay_ns);

  /// For MEANTIME_TEST_NAMESPACES.
  [[nodiscard]] std::string held() const;

 private:
  int center_ = -1;  ///< where they are joined
  std::vector<int> nodes_;
};

}  // namespace meantime::tools
