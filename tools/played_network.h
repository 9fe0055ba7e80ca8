// The network of nodes that this machine plays: a network namespace for each, in which a device,
// eth0, is joined to a bridge in a namespace of its own. Nothing of it has a name outside: the
// process that has made it holds descriptors, and with these all is gone.
#pragma once

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
/// Whether it is a time as tc takes it: "50us", "1ms".
bool is_delay(const std::string& text);

/// Each has neighbours to know, and an address in one network.
inline constexpr int most_nodes = 250;

class PlayedNetwork {
 public:
  /// `delay` (empty: none): of what a node sends. In a process of one thread, which may be in a
  /// user namespace of its own afterwards, with the rights in it that nodes take, for whom it
  /// executes, too. Empty, or one line why there is none; then the process is of no use.
  std::string make(int nodes, const std::optional<Rate>& rate, const std::string& delay);

  /// For MEANTIME_TEST_NAMESPACES.
  [[nodiscard]] std::string held() const;

 private:
  int center_ = -1;  ///< the bridge's namespace
  std::vector<int> nodes_;
};

}  // namespace meantime::tools
