// What the hub's mpiexec, which has no ranks itself, tells the one that it has started on a node:
// on its standard input, so that neither the secret nor the words are on any machine's list of
// processes. What follows there is a rank's input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/cli/command_line.h"

namespace meantime::launch {

/// The one word of such an mpiexec's command line.
inline constexpr char node_word[] = "--node-of-a-job";

struct Order {
  int node = 0;  ///< index in `nodes`
  std::string meeting;
  std::string directory;  ///< empty: wherever it is started
  std::vector<NodeRequest> nodes;
  int ranks = 0;  ///< of the job, whose words may not say so if it is of one program
  std::vector<std::string> words;  ///< of mpiexec's command line, without its own name
  std::vector<std::string> environment;
};

std::string text_of(const Order& order);

/// Reads no byte more than that. Nothing: it is none.
std::optional<Order> read_order(int descriptor);

/// Makes this process's environment and folder those of the order; where a machine's users, shells
/// and sessions are it knows best itself. Empty, or one line why not.
std::string follow(const Order& order);

}  // namespace meantime::launch
